"""Packages without an installation. `apt-get` and `dpkg` are shell scripts here."""

import os
from pathlib import Path

import pytest

from paceline_dev import pgbouncer
from paceline_dev.errors import DevError
from paceline_dev.kind import packages
from paceline_dev.kind.packages import choose_mirror, find_mirror, packages_key, tool_environment, unpacked
from paceline_dev.kind.places import Places
from paceline_dev.progress import PlainReporter

MIRROR = "http://mirror.invalid/debian"
SECURITY = "http://mirror.invalid/debian-security/ Debian Debian-Security"
THIRD = "https://third.invalid/apt third stuff"

APT = """#!/bin/sh
here=$(dirname "$0")
echo "$@" >> "$here/calls"
case $1 in
indextargets) cat "$here/targets" ;;
update) cp "$APT_CONFIG" "$here/conf"; cp "${APT_CONFIG%apt.conf}sources.list" "$here/sources"
  [ -f "$here/broken" ] && { cat "$here/broken" >&2; exit 100; } ;;
download) shift 2; for p; do touch "${p%/*}_1_amd64.deb"; done ;;
esac
exit 0
"""
DPKG = """#!/bin/sh
mkdir -p "$3/usr/bin" && touch "$3/usr/bin/$(basename "$2")"
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tools"
    folder.mkdir()
    for name, script in (("apt-get", APT), ("dpkg", DPKG)):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    (folder / "targets").write_text(f"{MIRROR}/ Debian Debian\n")
    (folder / "keyring").touch()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(packages, "KEYRING", folder / "keyring")
    return folder


@pytest.mark.parametrize(
    ("targets", "mirror"),
    [
        (f"{SECURITY}\n{THIRD}\n{MIRROR}/ Debian Debian\n", MIRROR),
        (f"{SECURITY}\n{THIRD}\n", None),
        ("http://archive.invalid/ubuntu/ Ubuntu Ubuntu\n", None),
        ("", None),
        (f"{MIRROR}/ $(ORIGIN) $(LABEL)\n", MIRROR),
        ("https://third.invalid/apt/ $(ORIGIN) $(LABEL)\n", None),
    ],
)
def test_the_mirror_is_the_one_of_debian_itself(targets: str, mirror: str | None) -> None:
    assert choose_mirror(targets) == mirror


def test_apt_without_a_mirror_is_one_line_that_says_what_to_do(tools: Path) -> None:
    (tools / "targets").write_text(f"{THIRD}\n")
    with pytest.raises(DevError, match=r"knows no Debian mirror: add one to /etc/apt/sources.list.d and run apt-get"):
        find_mirror()


def test_a_missing_keyring_names_its_package(tools: Path) -> None:
    (tools / "keyring").unlink()
    with pytest.raises(DevError, match="keyring is missing: install the package debian-archive-keyring"):
        find_mirror()


def test_packages_are_unpacked_by_an_apt_of_our_own_and_kept(tools: Path, tmp_path: Path) -> None:
    here = Places(tmp_path / "kind")
    folder = unpacked(here, PlainReporter())

    assert folder == tmp_path / "kind" / "packages" / packages_key()
    assert (folder / "usr/bin/runc_1_amd64.deb").is_file()
    assert "docker.io_1_amd64.deb" in (folder / "packages.txt").read_text()
    assert not (folder / "apt").exists()
    conf = (tools / "conf").read_text()
    for setting in ("Dir::State::lists", "Dir::State::status", "Dir::Cache", "Dir::Etc::sourcelist"):
        assert f'{setting} "{tmp_path}/kind/packages/' in conf
    (tools / "calls").unlink()
    assert unpacked(here, PlainReporter()) == folder
    assert not (tools / "calls").exists()


def test_the_mirror_of_the_machine_is_the_one_that_is_asked(tools: Path, tmp_path: Path) -> None:
    unpacked(Places(tmp_path / "kind"), PlainReporter())
    assert f"{MIRROR} bookworm main" in (tools / "sources").read_text()


def test_a_mirror_that_fails_is_one_line_and_leaves_nothing(tools: Path, tmp_path: Path) -> None:
    (tools / "broken").write_text("W: something\nE: The repository is not signed\nE: more\n")
    with pytest.raises(DevError) as caught:
        unpacked(Places(tmp_path / "kind"), PlainReporter())
    assert str(caught.value) == (
        "apt-get update failed (The repository is not signed): check apt's mirror and the network"
    )
    assert [path.name for path in (tmp_path / "kind/packages").iterdir()] == [f"{packages_key()}.lock"]


def test_pgbouncer_is_fetched_the_same_way_into_a_folder_of_its_own(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACELINE_CACHE", str(tmp_path / "cache"))
    folder = pgbouncer.programs(PlainReporter())
    assert folder.is_relative_to(tmp_path / "cache" / "pgbouncer")
    assert (folder / "usr/bin/pgbouncer_1_amd64.deb").is_file()
    assert "runc" not in (folder / "packages.txt").read_text()
    (tools / "calls").unlink()
    assert pgbouncer.programs(PlainReporter()) == folder
    assert not (tools / "calls").exists()


def test_a_machine_without_debians_tools_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DevError, match="PgBouncer comes from Debian, and there is no apt-get on this machine"):
        pgbouncer.programs(PlainReporter())


def test_another_list_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = packages_key()
    monkeypatch.setattr(packages, "PACKAGES", (*packages.PACKAGES, "more/trixie"))
    assert packages_key() != before


def test_the_engines_programs_see_no_proxy_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid")
    (tmp_path / "usr/lib/x86_64-linux-gnu").mkdir(parents=True)
    environment = tool_environment(tmp_path)
    assert "HTTP_PROXY" not in environment
    assert environment["PATH"].startswith(f"{tmp_path}/bin:")
    assert environment["XTABLES_LIBDIR"] == f"{tmp_path}/usr/lib/x86_64-linux-gnu/xtables"


def test_no_address_of_a_mirror_is_written_down_here() -> None:
    for path in Path(packages.__file__).parent.glob("*.py"):
        assert "://" not in path.read_text().replace("unix://", "")
