"""The prose of the page, a file for each part."""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent


def words(name: str, **values: object) -> str:
    """A part, with what is said in it."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8").format(**values).rstrip("\n")
