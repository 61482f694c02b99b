"""Removes what an engine left behind, whether it was stopped or killed: processes, mounts, cgroups, folders.

A process is ours if its record says so, or if it is in the engine's own cgroup, or if it is one of the engine's own
programs inside the engine's own namespace.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from paceline_dev.kind import daemons
from paceline_dev.kind.folders import remove, unmount
from paceline_dev.kind.namespace import Namespace
from paceline_dev.kind.places import Places

CGROUPS = Path("/sys/fs/cgroup")
DAEMONS = ("dockerd", "containerd")
"""In the order in which they are stopped: each needs the next."""
RECORDED = ("kind", "preload/containerd", *DAEMONS)
GRACE_SECONDS = 20.0
"""dockerd stops containers first."""
GONE_SECONDS = 10.0


def stop_processes(places: Places) -> None:
    """End the daemons, then whatever containers and shims outlived them."""
    for name in RECORDED:
        daemons.stop_recorded(places.run / f"{name}.process", GRACE_SECONDS)
    deadline = time.monotonic() + GONE_SECONDS
    while (left := [*_in_cgroup(places.cgroup), *_shims(places)]) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(daemons.POLL_SECONDS)


def remove_state(places: Places) -> None:
    """Remove mounts, cgroups, data, sockets and namespace of an engine whose processes have ended."""
    remove_run(places)
    remove(places.data)


def remove_run(places: Places) -> None:
    """Remove what an engine has only while it runs, and keep its images."""
    unmount(places.data)
    remove(places.run)
    remove_cgroups(cgroup_folders(places.cgroup))
    Namespace.of(places).delete()


def cgroup_folders(name: str, root: Path = CGROUPS) -> list[Path]:
    """The cgroup in the unified hierarchy, or one for each controller of version 1."""
    return [folder for folder in (root / name, *root.glob(f"*/{name}")) if folder.is_dir()]


def remove_cgroups(folders: Iterable[Path]) -> None:
    """A cgroup is removed after the ones in it; one that still has processes stays, and is tried again next time."""
    for top in folders:
        for folder, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                Path(folder).rmdir()


def _in_cgroup(name: str) -> Sequence[int]:
    found: set[int] = set()
    for top in cgroup_folders(name):
        for listing in top.rglob("cgroup.procs"):
            with contextlib.suppress(OSError):
                found.update(map(int, listing.read_text().split()))
    return sorted(found - {0})


def _shims(places: Places) -> Sequence[int]:
    """Processes of the engine's unpacked programs in the engine's namespace."""
    namespace = Namespace.of(places)
    if not namespace.exists():
        return []
    return [pid for pid in namespace.processes() if _program(pid).is_relative_to(places.cache / "packages")]


def _program(pid: int) -> Path:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/exe").readlink()
    return Path("/")
