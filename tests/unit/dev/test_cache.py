"""The cache that processes share: one builds, nobody sees half of anything."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from paceline_dev.cache import cache_root, locked, publish, require_space
from paceline_dev.errors import DevError

HOLDER = """
import sys, time
from pathlib import Path
from paceline_dev.cache import locked
with locked(Path(sys.argv[1]), print):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PACELINE_CACHE", str(tmp_path))
    assert cache_root() == tmp_path


def test_a_relative_or_home_folder_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PACELINE_CACHE", "~/mine")
    assert cache_root() == tmp_path / "mine"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PACELINE_CACHE", "here")
    assert cache_root() == tmp_path / "here"


@pytest.mark.parametrize(("xdg", "expected"), [("", ".cache/paceline"), ("elsewhere", "elsewhere/paceline")])
def test_the_cache_is_in_the_users_cache_folder_by_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, xdg: str, expected: str
) -> None:
    monkeypatch.delenv("PACELINE_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / xdg) if xdg else "")
    assert cache_root() == tmp_path / expected


def test_a_free_lock_is_taken_without_a_word(tmp_path: Path) -> None:
    said: list[str] = []
    with locked(tmp_path / "new" / "lock", said.append):
        assert (tmp_path / "new" / "lock").read_text().startswith(f"pid {os.getpid()} since ")
    assert said == []


def test_a_waiter_names_the_holder_and_a_killed_holder_lets_go(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(lock)]
    said: list[str] = []

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        def waiting(text: str) -> None:
            said.append(text)
            holder.kill()

        with locked(lock, waiting):
            assert lock.read_text().startswith(f"pid {os.getpid()} ")

    assert len(said) == 1
    assert said[0].startswith(f"waiting for pid {holder.pid} since ")
    assert said[0].endswith(f"which holds {lock}")


def test_a_lock_is_given_back_when_its_block_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broken"), locked(tmp_path / "lock", print):
        raise ValueError("broken")
    said: list[str] = []
    with locked(tmp_path / "lock", said.append):
        assert said == []


def test_publishing_replaces_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "place").write_text("old and longer")
    (tmp_path / "finished").write_text("new")

    publish(tmp_path / "finished", tmp_path / "place")

    assert (tmp_path / "place").read_text() == "new"
    assert not (tmp_path / "finished").exists()


def test_who_reads_during_a_publication_keeps_the_old_file_whole(tmp_path: Path) -> None:
    (tmp_path / "place").write_text("old and longer")
    (tmp_path / "finished").write_text("new")

    with (tmp_path / "place").open() as reader:
        publish(tmp_path / "finished", tmp_path / "place")
        assert reader.read() == "old and longer"


def test_space_is_refused_with_the_figures_and_a_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**29))

    with pytest.raises(DevError) as caught:
        require_space(tmp_path / "cache", 4 * 2**30, "building etcd")

    assert str(caught.value) == (
        f"building etcd needs about 4.0 GiB in {tmp_path / 'cache'}, which has 0.5 GiB free: free some space, "
        "or point PACELINE_CACHE (and GOCACHE, GOMODCACHE) at a larger disk"
    )


def test_enough_space_is_no_error_and_the_folder_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4 * 2**30))
    require_space(tmp_path / "cache", 4 * 2**30, "building etcd")
    assert (tmp_path / "cache").is_dir()
