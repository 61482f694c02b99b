"""The commands of a page, for tests that give them as they stand there."""

from pathlib import Path


def commands(page: Path, heading: str) -> list[str]:
    """What stands after a `$` under a heading, in its order."""
    part = page.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line.removeprefix("$ ") for line in part.splitlines() if line.startswith("$ ")]
