"""What this machine must have before a local engine is tried; each lack is one line that says what to do."""

import os
import platform
import shutil
from pathlib import Path

from paceline_dev.cache import require_space
from paceline_dev.errors import DevError
from paceline_dev.kind.places import Places

NEEDED_PROGRAMS = ("apt-get", "dpkg", "ip", "nsenter", "umount", "chroot")
DEBIAN_PACKAGES = {"ip": "iproute2", "nsenter": "util-linux", "umount": "mount", "chroot": "coreutils"}
ENGINE_SPACE = 2**30
"""Packages unpacked, and room for small images."""
IMAGE_SPACE = 5 * 2**30
"""Root file system, node image, its archive and the engine's copy, while the image is built."""
CLUSTER_SPACE = 2 * 2**30
MEMORY = 2 * 2**30
"""One node takes 0.6 GiB, three 0.9, the engine 0.15; the rest is for what is to run there."""


def require_local_engine(places: Places, why: str) -> None:
    """Refuse a machine that cannot run an engine of our own; `why` tells what is wrong with its Docker."""
    if platform.system() != "Linux":
        raise DevError(f"{why}, and an engine of our own needs Linux: start Docker and run this again")
    if os.geteuid() != 0:
        raise DevError(f"{why}, and an engine of our own needs root: start Docker, or run this as root")
    if missing := [program for program in NEEDED_PROGRAMS if shutil.which(program) is None]:
        install = " ".join(sorted({DEBIAN_PACKAGES.get(program, program) for program in missing}))
        raise DevError(
            f"{why}, and an engine of our own needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} "
            f"not here (Debian: {install}): install that, or start Docker"
        )
    require_space(places.cache, ENGINE_SPACE, "the local engine")


def require_memory(needed: int = MEMORY, meminfo: Path = Path("/proc/meminfo")) -> None:
    """Refuse to start a cluster that the kernel would soon kill parts of."""
    available = available_memory(meminfo.read_text()) if meminfo.is_file() else None
    if available is not None and available < needed:
        raise DevError(
            f"a cluster needs about {needed / 2**30:.0f} GiB of memory, and {available / 2**30:.1f} GiB are available: "
            "end something large and run this again"
        )


def available_memory(meminfo: str) -> int | None:
    """What the kernel could give to new programs, in bytes."""
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None
