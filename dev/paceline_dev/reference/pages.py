"""All generated tables, written and compared together."""

from pathlib import Path

from paceline_dev.generated import drift_of, write_all
from paceline_dev.reference import conditions, environment, http, metrics, sql


def render() -> dict[str, str]:
    """The pages by the names of their files."""
    return {
        name: text for part in (conditions, metrics, environment, sql, http) for name, text in part.render().items()
    }


def write(folder: Path) -> None:
    """Write them into a folder."""
    write_all(folder, render())


def drift(folder: Path) -> list[str]:
    """One line for each that differs from the code."""
    wanted = render()
    return [line for name, text in wanted.items() for line in drift_of(folder, {name: text}, pattern=name)]
