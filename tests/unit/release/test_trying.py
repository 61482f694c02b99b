"""A release that is not what it says does not leave the house: checksums, images that are asked for, and archives."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.helm.program import Helm
from paceline_dev.images.recipe import RUNNER, project_version
from paceline_dev.kind.engine import Engine
from paceline_dev.progress import PlainReporter
from paceline_dev.release import images, lock, sums
from paceline_dev.release.subject import Subject
from paceline_dev.release.verify import asked_for, verify
from unit.release.saved import RELEASE, STATUS, package, saved

SUBJECT = Subject(REPOSITORY, project_version(), "abc", 1767225601, "- x\n")
POD = """\
kind: Deployment
spec: {{template: {{spec: {{containers: [{{image: "{image}"}}], initContainers: [{{image: "{image}"}}]}}}}}}
"""


class Charts:
    """A helm whose charts ask for nothing."""

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess(arguments, 0, "", "")


HELM = cast("Helm", Charts())


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with manifests and their checksums."""
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "install.yaml").write_text(POD.format(image=f"paceline-operator:{SUBJECT.version}"))
    (folder / "crds.yaml").touch()
    sums.write(folder)
    return folder


def test_checksums_are_of_every_file_and_in_the_form_of_sha256sum(made: Path) -> None:
    sums.check(made)
    assert sums.read(made).keys() == {"install.yaml", "crds.yaml"}
    done = subprocess.run(["sha256sum", "--check", sums.NAME], cwd=made, capture_output=True, text=True, check=True)
    assert done.stdout == "crds.yaml: OK\ninstall.yaml: OK\n"


def test_a_file_that_has_changed_is_named(made: Path) -> None:
    (made / "crds.yaml").write_text("kind: Other\n")
    with pytest.raises(DevError, match=r"SHA256SUMS: crds\.yaml: FAILED"):
        verify(SUBJECT, made, HELM, PlainReporter(), with_images=False)


def test_a_file_without_a_checksum_is_named(made: Path) -> None:
    (made / "more.yaml").touch()
    with pytest.raises(DevError, match=r"SHA256SUMS says nothing of more\.yaml"):
        sums.check(made)


def test_manifests_that_ask_for_another_release_are_refused(made: Path) -> None:
    assert asked_for(SUBJECT, made, HELM) == {f"paceline-operator:{SUBJECT.version}"}
    (made / "install.yaml").write_text(POD.format(image="paceline-operator:0.0.9"))
    with pytest.raises(DevError, match=r"paceline-operator:0\.0\.9 is asked for, which is not of version"):
        asked_for(SUBJECT, made, HELM)


def test_an_image_that_no_archive_holds_is_named(made: Path) -> None:
    with pytest.raises(DevError, match=f"no archive holds paceline-operator:{SUBJECT.version}"):
        verify(SUBJECT, made, HELM, PlainReporter(), with_images=True)


class Saving:
    """An engine that has one image."""

    def docker(self, *arguments: str | Path, **_: object) -> None:
        word, option, place, reference = arguments
        assert (word, option, reference) == ("save", "--output", f"paceline-runner:{SUBJECT.version}")
        pinned = lock.read(REPOSITORY / "requirements" / "runner.txt").values()
        python = {name: text for pin in pinned for name, text in package(pin.name, pin.version).items()}
        base = {"var/lib/dpkg/status": STATUS, "usr/lib/os-release": RELEASE}
        saved(Path(place), [base, python | package("paceline", SUBJECT.version)], reference=str(reference))


def test_an_image_is_kept_with_its_bill_and_can_be_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    echo = tmp_path / "python"  # instead of the environment that has the library: it writes down what it is told
    echo.write_text(f"#!{sys.executable}\nimport sys\nsys.stdout.write(sys.stdin.read())\n")
    echo.chmod(0o755)
    base = images.save(cast("Engine", Saving()), SUBJECT, RUNNER, folder / "paceline-runner-1-amd64", echo)
    assert base == "some:base"
    assert {path.name for path in folder.iterdir()} == {
        "paceline-runner-1-amd64.docker.tar.gz", "paceline-runner-1-amd64.cdx.json",
    }  # fmt: skip
    assert images.references(folder) == {f"paceline-runner:{SUBJECT.version}"}
    told = json.loads((folder / "paceline-runner-1-amd64.cdx.json").read_text())
    assert "debian/base-files/amd64" in told["main"]["needs"]


def test_an_archive_is_packed_without_its_name_and_the_time(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x" * 100)
    images.pack(tmp_path / "one", tmp_path / "packed")
    packed = (tmp_path / "packed").read_bytes()
    assert gzip.decompress(packed) == b"x" * 100
    assert packed[3:8] == b"\0\0\0\0\0", "no flags, so no name, and no time"
