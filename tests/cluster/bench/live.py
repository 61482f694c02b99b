"""A bench that is run for real, and what it has told and drawn."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline_bench.bench import Bench, Plot, Run
from paceline_bench.plots import Shown
from paceline_bench.report import measure, write
from paceline_dev.progress import PlainReporter


@dataclass(frozen=True)
class Told:
    """What came of it."""

    missing: dict[str, str]
    """Figures that could not be measured, and why."""
    report: dict[str, Any]
    drawn: dict[str, list[str]]
    """The names in each picture."""


async def live(bench: Bench, folder: Path) -> Told:
    """Run it, and write its results to a folder."""
    drawn = {}

    def draw(plot: Plot, shown: Shown, _: Mapping[str, str], file: Path) -> None:
        drawn[file.name] = [each.name for each in shown]

    result = await measure(bench, Run(report=PlainReporter(io.StringIO())))
    report = json.loads(write(result, folder, draw).read_text())
    return Told({each.name: each.reason for each in result.missing}, report, drawn)
