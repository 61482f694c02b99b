"""Folders that are made once and kept: whole or not there at all, whoever dies in the middle."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from paceline_dev.cache import locked
from paceline_dev.errors import DevError
from paceline_dev.progress import Reporter

QUIET_SECONDS = 0.1


def made_once(place: Path, report: Reporter, make: Callable[[Path], None]) -> Path:
    """`place`, filled by `make` first if it is not there; `make` gets an empty folder beside it."""
    if place.is_dir():
        return place
    with locked(place.with_name(f"{place.name}.lock"), report.line):
        for leftover in place.parent.glob(f"{place.name}.tmp*"):  # of a run that was killed
            remove(leftover)
        if not place.is_dir():  # whoever held the lock may have made it
            _make(place, make)
    return place


def _make(place: Path, make: Callable[[Path], None]) -> None:
    unfinished = Path(tempfile.mkdtemp(prefix=f"{place.name}.tmp", dir=place.parent))
    try:
        unfinished.chmod(0o755)  # mkdtemp's 0700 would become the mode of a root file system
        make(unfinished)
        os.sync()  # thousands of small files: one sync for all
        unfinished.rename(place)
    finally:
        if unfinished.exists():
            remove(unfinished)


def mounts_below(folder: Path, table: str | None = None) -> list[Path]:
    """Mount points at or below a folder, the deepest first."""
    text = Path("/proc/self/mounts").read_text() if table is None else table
    points = [Path(_unescaped(line.split(" ")[1])) for line in text.splitlines() if line]
    return sorted((point for point in points if point.is_relative_to(folder)), key=lambda p: -len(p.parts))


def _unescaped(field: str) -> str:
    """The kernel writes a blank as a backslash and three octal digits."""
    return field.encode().decode("unicode_escape").encode("latin-1").decode()


def unmount(folder: Path) -> None:
    """Unmount everything at or below a folder; what is busy goes when its last user does."""
    for point in mounts_below(folder):
        subprocess.run(["umount", "--lazy", point], capture_output=True, check=False)


def _end_processes_in(folder: Path) -> None:
    """End what has the folder, or one in it, as its root: the programs in a half-made file system outlive its maker."""
    deadline = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < deadline:
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "root").readlink().is_relative_to(folder):
                    os.kill(int(process.name), signal.SIGKILL)
                    deadline = time.monotonic() + QUIET_SECONDS  # its parent may start another
        time.sleep(0.02)


def remove(folder: Path) -> None:
    """Remove a tree that may have mounts in it, and never what is mounted: that could be the machine's /dev."""
    if not folder.exists():
        return
    _end_processes_in(folder)
    unmount(folder)
    if still := mounts_below(folder):
        raise DevError(f"{still[0]} cannot be unmounted: end what uses it, unmount it, and try again")
    shutil.rmtree(folder)
