"""The results of an assessment as a file: what was seen, when, and on what."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

from paceline_bench.assess.plan import WAYS, told
from paceline_bench.assess.seen import Gap, Seen
from paceline_bench.assess.tables import reasons
from paceline_bench.measure import number

NAME: Final = "assess"


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """One run."""

    date: str
    quick: bool
    """Whether something was left out or cut short."""
    cells: Sequence[Seen]
    missing: Sequence[Gap]
    settings: Mapping[str, object]
    versions: Mapping[str, str]
    machine: Mapping[str, object]

    @classmethod
    def read(cls, file: Path) -> Self:
        """As it was written."""
        said: dict[str, Any] = json.loads(file.read_text())
        return cls(
            date=said["date"],
            quick=said["quick"],
            cells=[Seen.from_json(each) for each in said["cells"]],
            missing=[Gap(**each) for each in said["missing"]],
            settings=said["settings"],
            versions=said["versions"],
            machine=said["machine"],
        )

    def text(self) -> str:
        """JSON; cells in an order that people look for them in, not in that of the run."""
        ordered = sorted(self.cells, key=lambda each: (list(WAYS).index(each.way), each.runners, each.rate or 10**9))
        said = {
            "bench": NAME,
            "date": self.date,
            "quick": self.quick,
            "cells": [each.as_json() for each in ordered],
            "missing": [asdict(each) for each in self.missing],
            "settings": dict(self.settings),
            "versions": dict(self.versions),
            "machine": dict(self.machine),
        }
        return json.dumps(said, indent=2, ensure_ascii=False) + "\n"

    def markdown(self) -> str:
        """Every number of every cell; the page with the answer is another."""
        names = [each.name for each in fields(Seen)]
        lines = ["# Load assessment: every cell", "", "What it means: docs/load-assessment.md.", ""]
        lines += [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
        for each in self.cells:
            lines.append(f"| {' | '.join(_shown(each, name) for name in names)} |")
        return "\n".join(lines) + "\n"


def _shown(cell: Seen, name: str) -> str:
    value = getattr(cell, name)
    if name == "rate":
        return told(value)
    if name == "way":
        return WAYS[cell.way]
    if isinstance(value, Mapping):
        return reasons(value)
    return "" if value is None else number(value)
