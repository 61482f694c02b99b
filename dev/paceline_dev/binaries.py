"""The five programs of a control plane: given by the user, found in the cache, or built from Go modules.

They are in no package registry, and downloading them needs more of the internet than many a machine may see.
"""

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paceline_dev.cache import cache_root, locked, publish, require_space
from paceline_dev.errors import DevError
from paceline_dev.gobuild import (
    BYTES_PER_PACKAGE,
    BYTES_PER_PROGRAM,
    KUBECTL,
    KUBERNETES_VERSION,
    PINS,
    PROGRAMS,
    GoBuild,
    Module,
    Program,
    build_key,
)
from paceline_dev.golang import find_go
from paceline_dev.progress import Reporter

ASSETS = "KUBEBUILDER_ASSETS"


@dataclass(frozen=True, slots=True)
class Binaries:
    """Where the programs are; `folder` holds all of them under their usual names."""

    folder: Path
    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    kube_scheduler: Path
    kubectl: Path


def find_binaries(report: Reporter) -> Binaries:
    """The programs, built first if neither the user nor the cache has them."""
    if chosen := os.environ.get(ASSETS):
        return _from_assets(Path(chosen).expanduser().absolute())
    return _in(built(built_folder(), PROGRAMS, report))


def find_kubectl(report: Reporter) -> Path:
    """The one program that can do something without a cluster, without the rest of the build."""
    if os.environ.get(ASSETS):
        return find_binaries(report).kubectl
    return built(built_folder(), [KUBECTL], report) / KUBECTL.name


def built_folder() -> Path:
    """Where the programs of this version of Kubernetes are kept."""
    return cache_root() / "kubernetes" / f"{KUBERNETES_VERSION}-{build_key()}"


def built(folder: Path, programs: Sequence[Program], report: Reporter) -> Path:
    """The folder, after all programs have been built that are not in it; they have their pins in common."""
    if _missing(folder, programs):
        try:
            with locked(folder / "build.lock", report.line):
                if missing := _missing(folder, programs):  # whoever held the lock may have built them
                    _build(folder, missing, report)
        except OSError as error:
            raise _unwritable(folder, error) from error
    return folder


def _in(folder: Path) -> Binaries:
    return Binaries(folder, *(folder / program.name for program in PROGRAMS))


def _from_assets(folder: Path) -> Binaries:
    """The user's own folder, which must have all: a mix of versions would be a riddle later."""
    missing = [program.name for program in PROGRAMS if not _executable(folder / program.name)]
    if missing:
        raise DevError(
            f"{ASSETS} is {folder}, which has no executable {', '.join(missing)}: put "
            f"{'it' if len(missing) == 1 else 'them'} there, or unset {ASSETS} to have all five built"
        )
    return _in(folder)


def _executable(file: Path) -> bool:
    return file.is_file() and os.access(file, os.X_OK)


def _missing(folder: Path, programs: Sequence[Program]) -> list[Program]:
    """Programs that are not there as the manifest says: a truncated or foreign file does not count."""
    sizes = {name: entry.get("size") for name, entry in _manifest(folder).items()}
    return [program for program in programs if not _intact(folder / program.name, sizes.get(program.name))]


def _intact(file: Path, size: int | str | None) -> bool:
    return _executable(file) and file.stat().st_size == size


def _manifest(folder: Path) -> dict[str, dict[str, int | str]]:
    """Size and digest by program; what cannot be read says nothing, so all is built again."""
    try:
        read = json.loads((folder / "manifest.json").read_text())
    except (OSError, ValueError):
        return {}
    if not isinstance(read, dict):
        return {}
    return {name: entry for name, entry in read.items() if isinstance(entry, dict)}


def _build(folder: Path, missing: list[Program], report: Reporter) -> None:
    """Build what is missing, and record each program once it is whole, so that a killed build resumes."""
    _remove_unfinished(folder)
    build = GoBuild(find_go(report), folder / "work", folder / "logs", _other_pins(missing))
    try:
        _make_room(build, folder, missing, report)
        for program in missing:
            packages = build.stale_packages([program])
            unfinished = folder / f".{program.name}.{os.getpid()}.tmp"
            only_link = packages <= 1  # with a warm Go cache; nothing to count
            with report.task(f"building {program.name}", None if only_link else packages) as task:
                build.build(program, unfinished, task.advance)
            unfinished.chmod(0o755)
            _record(folder, program, unfinished)
    finally:
        build.close()
        _remove_unfinished(folder)


def _other_pins(programs: Sequence[Program]) -> Path | None:
    """None for the control plane's own, which the user may also provide."""
    pins = programs[0].module.pins
    return None if pins == PINS else pins


def _remove_unfinished(folder: Path) -> None:
    """Only the holder of the lock builds, so every temporary file is a dead build's."""
    for leftover in folder.glob(".*.tmp"):
        leftover.unlink(missing_ok=True)


def _record(folder: Path, program: Program, finished: Path) -> None:
    """The program first, its entry after it: a kill between the two costs a link, never a wrong hit."""
    with finished.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    entry: dict[str, int | str] = {"size": finished.stat().st_size, "sha256": digest}
    publish(finished, folder / program.name)
    listed = folder / f".manifest.json.{os.getpid()}.tmp"
    listed.write_text(json.dumps(_manifest(folder) | {program.name: entry}, indent=2, sort_keys=True) + "\n")
    publish(listed, folder / "manifest.json")


def _make_room(build: GoBuild, folder: Path, missing: list[Program], report: Reporter) -> None:
    """Download the modules, and refuse before the first minutes-long step what the disk cannot hold."""
    objects, modules = build.caches()
    needed_by = list(dict.fromkeys(program.module for program in missing))
    absent = [module for module in needed_by if not (modules / module.root).is_dir()]
    _require({modules: sum(module.download for module in absent)}, "downloading the Go modules")
    with report.task("downloading Go modules") as task:
        packages = [build.stale_packages(_of(module, missing), task.advance) for module in needed_by]
    # Objects of all packages stay in Go's cache; those of the program at hand are in the work folder too.
    needs = {
        objects: sum(packages) * BYTES_PER_PACKAGE,
        folder: max(packages) * BYTES_PER_PACKAGE + len(missing) * BYTES_PER_PROGRAM,
    }
    _require(needs, f"building {', '.join(program.name for program in missing)}")


def _of(module: Module, programs: Iterable[Program]) -> list[Program]:
    return [program for program in programs if program.module == module]


def _require(needs: Mapping[Path, int], purpose: str) -> None:
    """Check the sum for each disk, since Go's caches and ours are mostly on the same one."""
    disks: dict[int, tuple[Path, int]] = {}
    for folder, needed in needs.items():
        folder.mkdir(parents=True, exist_ok=True)
        first, sum_so_far = disks.get(disk := folder.stat().st_dev, (folder, 0))
        disks[disk] = (first, sum_so_far + needed)
    for folder, needed in disks.values():
        require_space(folder, needed, purpose)


def _unwritable(folder: Path, error: OSError) -> DevError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DevError(f"no space left in {folder}: free some, or point PACELINE_CACHE at a larger disk")
    where = error.filename or folder
    return DevError(f"cannot use {where} ({error.strerror}): mend it, or point PACELINE_CACHE elsewhere")
