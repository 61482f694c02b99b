"""The committed results, read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from paceline_bench.errors import BenchError
from paceline_bench.measure import number

BENCHES: Final = (
    "runner", "queue", "operator", "failover", "autoscale", "rollout", "gateway", "growth", "soak", "e2e",
)  # fmt: skip
"""In the order of the page; one that was not run yet is left out. Assessment and chaos have pages of their own."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One file of results."""

    name: str
    told: Mapping[str, Any]

    @property
    def date(self) -> str:
        """The day."""
        return str(self.told["date"])[:10]

    @property
    def figures(self) -> dict[str, Mapping[str, Any]]:
        """By their names."""
        return {each["name"]: each for each in self.told["figures"]}

    def cell(self, figure: str) -> str:
        """The median with its unit, and what it lies between."""
        found = self.figures.get(figure)
        if found is None:
            raise BenchError(f"{self.name}.json has no {figure}: run make bench-{self.name}")
        return spread(found)


def spread(found: Mapping[str, Any]) -> str:
    """4,094 jobs/s (3,875 to 5,378); one that was taken once has no spread."""
    text = f"{number(found['median'])} {found['unit']}".strip()
    if len(found["repetitions"]) < 2:
        return text
    return f"{text} ({number(found['min'])} to {number(found['max'])})"


def read(folder: Path) -> dict[str, Kept]:
    """All that there are."""
    found = {}
    for name in BENCHES:
        file = folder / f"{name}.json"
        if file.exists():
            found[name] = Kept(name, json.loads(file.read_text()))
    return found
