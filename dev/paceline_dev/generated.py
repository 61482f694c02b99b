"""Files that are generated and committed: written in one way, and compared with what they should be."""

from itertools import zip_longest
from pathlib import Path


def write_all(folder: Path, wanted: dict[str, str]) -> None:
    """Write every file, by its name in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")


def drift_of(folder: Path, wanted: dict[str, str], *, pattern: str, command: str = "make crds") -> list[str]:
    """One line for each file that is missing, differs, or matches the pattern and should not be there.

    `command` is what writes them anew.
    """
    lines = [line for name, text in wanted.items() if (line := _difference(folder / name, text, command))]
    present = {path.name for path in folder.glob(pattern)}
    return lines + [f"{folder / name}: is no longer generated: delete it" for name in sorted(present - wanted.keys())]


def _difference(path: Path, wanted: str, command: str) -> str | None:
    if not path.exists():
        return f"{path}: is missing: run `{command}`"
    found = path.read_text(encoding="utf-8")
    if found == wanted:
        return None
    pairs = enumerate(zip_longest(found.splitlines(), wanted.splitlines()), start=1)
    number, (old, new) = next((n, pair) for n, pair in pairs if pair[0] != pair[1])
    return f"{path}:{number}: has {old!r}, should have {new!r}: run `{command}`"
