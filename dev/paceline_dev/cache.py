"""Where expensive things are kept between runs, and how two processes share them without seeing half of one."""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from paceline_dev.errors import DevError


def cache_root() -> Path:
    """`PACELINE_CACHE`, else `paceline` in the user's cache folder."""
    if chosen := os.environ.get("PACELINE_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "paceline"


@contextmanager
def locked(path: Path, waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold an exclusive lock on a file; the kernel drops it when the holder dies, so it is never stale.

    `waiting` is called once with a line that names the holder, if there is one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            waiting(f"waiting for {file.read().strip() or 'another process'}, which holds {path}")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        file.truncate()
        file.write(f"pid {os.getpid()} since {time.strftime('%H:%M:%S')}\n")
        file.flush()
        yield


def publish(finished: Path, place: Path) -> None:
    """Move a finished file to its place in one step that survives a crash: it is there whole, or not at all."""
    with finished.open("rb") as file:
        os.fsync(file.fileno())
    finished.replace(place)
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def require_space(folder: Path, needed: int, purpose: str) -> None:
    """Refuse to begin what would fill the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DevError(
            f"{purpose} needs about {needed / 2**30:.1f} GiB in {folder}, which has {free / 2**30:.1f} GiB free: "
            "free some space, or point PACELINE_CACHE (and GOCACHE, GOMODCACHE) at a larger disk"
        )
