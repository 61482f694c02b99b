"""What a build sees, packed so that nothing of the machine gets in: no owner, no umask, no time of a checkout."""

import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

IGNORE = ".dockerignore"
WHEELS = "dev/image/wheels"
"""Where the Containerfiles look for wheels; ours come from the cache, not from what may lie there."""
LEFT_OUT = ("__pycache__", IGNORE)


@dataclass(frozen=True, slots=True)
class Member:
    """A file for the build."""

    name: str
    path: Path

    @property
    def mode(self) -> int:
        """As git keeps it: whether it is a program, and nothing else."""
        return 0o755 if self.path.stat().st_mode & 0o100 else 0o644


def members(root: Path, containerfile: str, wheels: Path | None = None) -> list[Member]:
    """The files that the folder's .dockerignore lets in (all, if it has none), the Containerfile, and the wheels."""
    found = {name: root / name for top in _allowed(root) for name in _files(root, root / top)}
    found[containerfile] = root / containerfile
    if wheels is not None:
        found = {name: path for name, path in found.items() if not name.startswith(f"{WHEELS}/")}
        found |= {f"{WHEELS}/{path.name}": path for path in wheels.glob("*.whl")}
    return [Member(name, path) for name, path in sorted(found.items())]


def _allowed(root: Path) -> list[str]:
    ignore = root / IGNORE
    if not ignore.is_file():
        return ["."]
    return [line[1:].strip() for line in ignore.read_text().splitlines() if line.startswith("!")]


def _files(root: Path, top: Path) -> Iterator[str]:
    for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
        name = path.relative_to(root)
        if path.is_file() and path.suffix != ".pyc" and not set(name.parts) & set(LEFT_OUT):
            yield name.as_posix()


def pack(content: Iterable[Member], into: IO[bytes], time: int) -> None:
    """Write a tar archive: the same files give the same bytes."""
    with tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in content:
            entry = tarfile.TarInfo(member.name)
            entry.size, entry.mode, entry.mtime = member.path.stat().st_size, member.mode, time
            with member.path.open("rb") as file:
                archive.addfile(entry, file)
