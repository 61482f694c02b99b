"""The base of our images: python:3.13-slim, or where no registry can be reached the same Python from Debian."""

import hashlib
import inspect
import os
import shutil
import subprocess
from pathlib import Path

from paceline_dev.cache import cache_root, require_space
from paceline_dev.errors import DevError
from paceline_dev.images import clean
from paceline_dev.images.recipe import KEY_LABEL
from paceline_dev.kind.engine import Engine
from paceline_dev.kind.folders import made_once
from paceline_dev.kind.packages import unpacked
from paceline_dev.kind.places import places
from paceline_dev.kind.rootfs import debootstrap
from paceline_dev.progress import Reporter

PULLED = "python:3.13-slim"
MADE = "localhost/paceline-base:trixie"
SUITE = "trixie"
INCLUDED = ("ca-certificates", "netbase", "python3", "python3-venv", "python-is-python3", "tzdata")
"""What python:3.13-slim has too, as far as we use it."""
SPACE = 2**30
"""270 MiB unpacked with its packages, 40 MiB as it is kept."""
NEEDED = ("apt-get", "chroot", "dpkg", "tar", "wget")


def find_base(engine: Engine, report: Reporter) -> str:
    """A base that the engine has, pulled or made first if need be."""
    if image_id(engine, PULLED):
        return PULLED
    if not engine.local:  # ours has no way out
        with report.task(f"pulling {PULLED}"):
            pulled = engine.docker("pull", "--quiet", PULLED, check=False).returncode == 0
        if pulled:
            return PULLED
        report.line(f"{PULLED} cannot be pulled: making {MADE} from Debian's packages")
    if label_of(engine, MADE) != base_key():
        _import(engine, find_root_file_system(report), report)
    return MADE


def image_id(engine: Engine, reference: str) -> str:
    """The id of an image; empty if the engine does not have it."""
    found = engine.docker("image", "inspect", "--format", "{{.Id}}", reference, check=False)
    return found.stdout.strip() if found.returncode == 0 else ""


def label_of(engine: Engine, reference: str) -> str:
    """What an image was made of; empty if the engine does not have it, or somebody else made it."""
    form = f'{{{{index .Config.Labels "{KEY_LABEL}"}}}}'
    found = engine.docker("image", "inspect", "--format", form, reference, check=False)
    return found.stdout.strip() if found.returncode == 0 else ""


def base_key() -> str:
    """Another list of packages, or another way to clean up, is another base; a mirror's point releases are not."""
    made_of = [SUITE, *INCLUDED, inspect.getsource(clean)]
    return hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:12]


def find_root_file_system(report: Reporter) -> Path:
    """The base as a gzipped archive, made first if the cache has none (about 90 s)."""

    def make(folder: Path) -> None:
        _require_machine()
        require_space(folder, SPACE, "the base image")
        here, root = places(), folder / "root"
        packages = unpacked(here, report)
        with report.task(f"making a base from Debian {SUITE}") as task:
            debootstrap(packages, root, SUITE, INCLUDED, here.logs / "debootstrap-base.log", task)
            clean.clean(root)
            task.advance("packing")
            _pack(root, folder / clean.ARCHIVE)
            shutil.rmtree(root)

    return made_once(cache_root() / "images" / f"base-{SUITE}-{base_key()}", report, make) / clean.ARCHIVE


def _require_machine() -> None:
    if os.geteuid() != 0:
        raise DevError(f"{PULLED} cannot be pulled, and making a base needs root: load that image, or run this as root")
    if missing := [program for program in NEEDED if shutil.which(program) is None]:
        raise DevError(f"{PULLED} cannot be pulled, and making a base needs {', '.join(missing)}: install that")


def _pack(root: Path, archive: Path) -> None:
    """Device nodes and what is mounted come from the engine."""
    left_out = [f"--exclude=./{folder}/*" for folder in ("dev", "proc", "sys")]
    options = ["--create", "--gzip", "--numeric-owner", "--sort=name", *left_out, f"--directory={root}"]
    done = subprocess.run(["tar", *options, "--file", archive, "."], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"the base cannot be packed: {done.stderr.strip()}")


def _import(engine: Engine, archive: Path, report: Reporter) -> None:
    with report.task(f"loading {MADE} into the engine"):
        engine.docker("import", "--change", f"LABEL {KEY_LABEL}={base_key()}", archive, MADE)
