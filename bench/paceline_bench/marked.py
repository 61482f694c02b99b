"""Pages written by hand with tables that are computed: each table stands between two marks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from paceline_bench.errors import BenchError

END: Final = "<!-- end -->"
Tables = Mapping[str, Sequence[str]]
"""The lines of each, by its name in the mark."""


def written(page: str, text: str, tables: Tables) -> str:
    """The text with each table between its marks; `page` is for whoever forgot one."""
    for name, lines in tables.items():
        begin = f"<!-- table: {name} -->\n"
        before, found, rest = text.partition(begin)
        _, end, after = rest.partition(END)
        if not found or not end or begin in after:
            raise BenchError(f"docs/{page} needs one {begin.strip()} with an {END} after it")
        text = "\n".join([before + begin.strip(), *lines, end + after])
    return text


def write(page: Path, tables: Tables) -> None:
    """Bring a page up to date."""
    page.write_text(written(page.name, page.read_text(), tables))


def drift(page: Path, tables: Tables) -> list[str]:
    """What has to be done to it."""
    text = page.read_text()
    if written(page.name, text, tables) == text:
        return []
    return [f"docs/{page.name} differs from the results (run make crds)"]
