"""The wheels of an image, downloaded by its locks outside of the build and kept in the cache."""

import hashlib
import subprocess
import sys
from pathlib import Path

from paceline_dev import REPOSITORY
from paceline_dev.cache import cache_root
from paceline_dev.errors import DevError
from paceline_dev.kind.folders import made_once
from paceline_dev.progress import Reporter

PYTHON = "3.13"
"""Of both bases: python:3.13-slim and Debian trixie."""
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
"""An engine's name for its machine, and that of wheels."""
LIBCS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
"""pip takes each literally; both bases have a newer libc than any of them."""


def find_wheels(lock: str, arch: str, report: Reporter, root: Path = REPOSITORY) -> Path:
    """A folder with the wheels that the lock names, and those that build our own."""
    locks = [root / "requirements" / f"{name}.txt" for name in ("build", lock)]
    key = wheels_key([path.read_bytes() for path in locks], arch)

    def make(folder: Path) -> None:
        with report.task(f"downloading the wheels of requirements/{lock}.txt") as task:
            for path in locks:
                task.advance(path.name)
                _download(path, arch, folder)

    return made_once(cache_root() / "images" / f"wheels-{lock}-{key}", report, make)


def wheels_key(locks: list[bytes], arch: str) -> str:
    """Locks pin by hash, so the same locks are the same wheels."""
    return hashlib.sha256(b"\0".join([*locks, PYTHON.encode(), arch.encode()])).hexdigest()[:12]


def download_command(lock: Path, arch: str, folder: Path) -> list[str]:
    """Nothing is accepted but what the lock names by hash, and nothing that would have to be built."""
    if arch not in MACHINES:
        raise DevError(f"the engine runs on {arch}, for which there are no images (only {', '.join(MACHINES)})")
    platforms = [word for libc in LIBCS for word in ("--platform", f"{libc}_{MACHINES[arch]}")]
    return [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps",
        "--require-hashes", "--only-binary", ":all:", "--python-version", PYTHON, *platforms,
        "--dest", str(folder), "--requirement", str(lock),
    ]  # fmt: skip


def _download(lock: Path, arch: str, folder: Path) -> None:
    run = subprocess.run(download_command(lock, arch, folder), capture_output=True, text=True, check=False)
    if run.returncode != 0:
        said = [line.strip() for line in (run.stdout + run.stderr).splitlines() if line.strip()]
        errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR:")] or said
        reason = errors[-1] if errors else f"pip ended with {run.returncode}"
        raise DevError(f"the wheels of requirements/{lock.name} cannot be downloaded ({reason}): check pip's index")
