"""What is in an image is read from its archive, layer over layer."""

from pathlib import Path

import pytest

from paceline_dev.errors import DevError
from paceline_dev.release.archive import Debian, read, references
from unit.release.saved import RELEASE, SITE, STATUS, package, saved

BASE = {"./var/lib/dpkg/status": STATUS, "./usr/lib/os-release": RELEASE, "./usr/bin/python": "x"}


@pytest.mark.parametrize("zipped", [False, True], ids=["old engine", "new engine"])
def test_it_tells_its_name_its_base_and_its_packages(tmp_path: Path, zipped: bool) -> None:
    ours = package("paceline", "1.2.0") | package("Typing_Extensions", "4.16.0")
    path = saved(tmp_path / "image.tar", [BASE, ours], zipped=zipped)
    found = read(path)
    assert found.references == references(path) == ("paceline-runner:1.2.0",)
    assert (found.base, found.interpreter, found.system) == ("some:base", "3.13.9", "debian-13")
    assert found.debian == (Debian("base-files", "13.8+deb13u1", "amd64"), Debian("tzdata", "2026a-1", "all"))
    assert found.python == {"paceline": "1.2.0", "typing-extensions": "4.16.0"}


def test_a_higher_layer_replaces_and_removes_what_is_below_it(tmp_path: Path) -> None:
    gone = f"{SITE}/.wh.gone-1.0.dist-info"
    upgraded = {"var/lib/dpkg/status": STATUS.replace("2026a-1", "2026b-1"), gone: "", **package("kept", "2.0")}
    found = read(saved(tmp_path / "image.tar", [BASE, package("gone", "1.0") | package("other", "1.0"), upgraded]))
    assert found.python == {"other": "1.0", "kept": "2.0"}
    assert found.debian[-1].version == "2026b-1"


def test_a_folder_that_begins_anew_hides_what_was_in_it(tmp_path: Path) -> None:
    anew = {f"{SITE}/.wh..wh..opq": "", **package("new", "1.0")}
    assert read(saved(tmp_path / "image.tar", [BASE, package("old", "1.0"), anew])).python == {"new": "1.0"}


def test_a_base_whose_packages_cannot_be_told_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DevError, match=r"image\.tar: there is no var/lib/dpkg/status"):
        read(saved(tmp_path / "image.tar", [{"etc/alpine-release": "3"}]))


def test_another_archive_is_none_of_an_image(tmp_path: Path) -> None:
    path = saved(tmp_path / "image.tar", [BASE])
    path.write_bytes(path.read_bytes().replace(b"manifest.json", b"something.txt"))
    with pytest.raises(DevError, match=r"image\.tar is no archive of an image: there is no manifest\.json in it"):
        references(path)
