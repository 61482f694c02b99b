"""SHA256SUMS: a line for each file, in the form that `sha256sum --check` reads."""

import hashlib
from pathlib import Path
from typing import Final

from paceline_dev.errors import DevError
from paceline_dev.release.programs import run

NAME: Final = "SHA256SUMS"


def write(folder: Path) -> None:
    """Write it for all files that are there."""
    lines = [f"{_digest(path)}  {path.name}\n" for path in sorted(folder.iterdir()) if path.name != NAME]
    (folder / NAME).write_text("".join(lines))


def read(folder: Path) -> dict[str, str]:
    """The digest of each file by its name."""
    lines = (line.split("  ", 1) for line in (folder / NAME).read_text().splitlines())
    return {name: digest for digest, name in lines}


def check(folder: Path) -> None:
    """Fail if a file is not what it is said to be, or nothing is said of it."""
    run(NAME, ["sha256sum", "--check", "--strict", "--quiet", NAME], cwd=folder)
    if unsaid := {path.name for path in folder.iterdir()} - read(folder).keys() - {NAME}:
        raise DevError(f"{NAME} says nothing of {', '.join(sorted(unsaid))}")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
