"""Folders that are made once: nobody sees half of one, and what is mounted is never removed."""

import os
import subprocess
from pathlib import Path

import pytest

from paceline_dev.errors import DevError
from paceline_dev.kind import folders
from paceline_dev.kind.folders import made_once, mounts_below, remove
from paceline_dev.progress import PlainReporter

MOUNTS = """proc /proc proc rw 0 0
overlay /cache/engine/docker/overlay2/a/merged overlay rw 0 0
tmpfs /cache/engine/with\\040blank tmpfs rw 0 0
tmpfs /cache/engine tmpfs rw 0 0
tmpfs /cache/engine-of-another tmpfs rw 0 0
"""


def make(place: Path) -> list[Path]:
    calls = []

    def fill(folder: Path) -> None:
        calls.append(folder)
        (folder / "content").write_text("whole")

    assert made_once(place, PlainReporter(), fill) == place
    return calls


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    assert len(make(tmp_path / "a" / "place")) == 1
    assert make(tmp_path / "a" / "place") == []
    assert (tmp_path / "a" / "place" / "content").read_text() == "whole"
    assert (tmp_path / "a" / "place").stat().st_mode & 0o777 == 0o755


def test_while_it_is_made_it_is_elsewhere(tmp_path: Path) -> None:
    (folder,) = make(tmp_path / "place")
    assert folder != tmp_path / "place"
    assert not folder.exists()


def test_what_a_killed_run_left_is_removed_and_made_anew(tmp_path: Path) -> None:
    (tmp_path / "place.tmpdead" / "proc").mkdir(parents=True)
    make(tmp_path / "place")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["place", "place.lock"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "half").touch()
        raise DevError("the mirror is gone")

    with pytest.raises(DevError, match="the mirror is gone"):
        made_once(tmp_path / "place", PlainReporter(), fill)
    assert [path.name for path in tmp_path.iterdir()] == ["place.lock"]


def test_mounts_are_found_deepest_first_and_only_below() -> None:
    assert mounts_below(Path("/cache/engine"), MOUNTS) == [
        Path("/cache/engine/docker/overlay2/a/merged"),
        Path("/cache/engine/with blank"),
        Path("/cache/engine"),
    ]


def test_a_folder_with_something_still_mounted_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "root" / "dev").mkdir(parents=True)
    (tmp_path / "root" / "dev" / "sda").touch()
    monkeypatch.setattr(folders, "mounts_below", lambda _: [tmp_path / "root" / "dev"])

    with pytest.raises(DevError, match="cannot be unmounted: end what uses it"):
        remove(tmp_path / "root")
    assert (tmp_path / "root" / "dev" / "sda").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root of a process")
def test_a_program_that_still_runs_in_a_half_made_root_is_ended(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    script = f"import os, time; os.chroot({str(root)!r}); print('in', flush=True); time.sleep(60)"
    with subprocess.Popen(["python3", "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        remove(root)
        ended = process.poll()
        process.kill()
    assert ended == -9
    assert not root.exists()


def test_what_is_not_there_needs_no_removal(tmp_path: Path) -> None:
    remove(tmp_path / "none")
