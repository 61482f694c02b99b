"""From measurements to files: JSON for programs, Markdown and pictures for people."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from paceline_bench import budgets, machine
from paceline_bench.bench import Bench, Beside, Run
from paceline_bench.budgets import Budget, Verdict
from paceline_bench.measure import Curve, Figure, Figures, Measurement, Missing, collect, derive, number
from paceline_bench.plots import Draw

RESULTS: Final = Path(__file__).resolve().parents[1] / "results"
DIGITS: Final = 6
"""Significant digits that are kept: more than any repetition is good for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a run found."""

    bench: Bench
    date: datetime
    quick: bool
    figures: Figures
    curves: Mapping[str, Curve]
    verdicts: Sequence[Verdict]
    missing: Sequence[Missing]
    settings: Mapping[str, object]
    versions: Mapping[str, str]
    machine: Mapping[str, object]

    @property
    def missed(self) -> list[Verdict]:
        """The budgets that were not kept."""
        return [verdict for verdict in self.verdicts if not verdict.ok]


async def measure(bench: Bench, run: Run, limits: Sequence[Budget] | None = None) -> Result:
    """Run a bench to its end."""
    facts = machine.machine()  # before the run, whose writes would slow the disk down
    measurements: list[Measurement] = []
    missing: list[Missing] = []
    async for each in bench.function(run):
        if isinstance(each, Measurement):
            measurements.append(each)
        else:
            run.report.line(f"not measured: {each.name}: {each.reason}")
            missing.append(each)
    figures = derive(collect(measurements), bench.derived)
    return Result(
        bench=bench,
        date=datetime.now(UTC),
        quick=run.shortened,
        figures=figures,
        curves=run.curves,
        verdicts=budgets.judge(budgets.load(bench.name) if limits is None else limits, figures),
        missing=missing,
        settings=run.settings,
        versions={**machine.versions(), **run.versions},
        machine=facts,
    )


def write(result: Result, folder: Path, draw: Draw) -> Path:
    """Write `<name>.json`, `<name>.md` and the pictures; returns the JSON file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{result.bench.name}.json"
    file.write_text(json.dumps(as_json(result), indent=2, ensure_ascii=False) + "\n")
    drawn = []
    for plot in result.bench.plots:
        there: Mapping[str, Figure | Curve] = result.curves if plot.kind == "steps" else result.figures
        shown = [there[name] for name in plot.names if name in there]
        picture = folder / f"{result.bench.name}-{plot.file}.svg"
        if shown:
            draw(plot, shown, result.bench.labels, picture)
            drawn.append((plot.title, picture.name))
        else:
            picture.unlink(missing_ok=True)  # an older run's would stand beside figures that are not its own
    file.with_suffix(".md").write_text(as_markdown(result, drawn))
    return file


def as_json(result: Result) -> dict[str, object]:
    """The result for programs."""
    return {
        "bench": result.bench.name,
        "date": f"{result.date:%Y-%m-%dT%H:%M:%SZ}",
        "quick": result.quick,
        "ok": not result.missed,
        "budgets": [
            {
                "name": each.budget.name,
                "value": None if each.value is None else _rounded(each.value),
                "op": each.budget.op,
                "limit": each.budget.limit,
                "ok": each.ok,
                "design": each.budget.design,
            }
            for each in result.verdicts
        ],
        "figures": [
            {
                "name": each.name,
                "unit": each.unit,
                "median": _rounded(each.median),
                "min": _rounded(each.spread[0]),
                "max": _rounded(each.spread[1]),
                "repetitions": [_rounded(value) for value in each.values],
            }
            for each in result.figures.values()
        ],
        "curves": [
            {
                "name": each.name,
                "unit": each.unit,
                "seconds": [_rounded(at) for at, _ in each.points],
                "values": [_rounded(value) for _, value in each.points],
            }
            for each in result.curves.values()
        ],
        "missing": [{"name": each.name, "reason": each.reason} for each in result.missing],
        "settings": dict(result.settings),
        "versions": dict(result.versions),
        "machine": dict(result.machine),
    }


def as_markdown(result: Result, pictures: Sequence[tuple[str, str]] = ()) -> str:
    """The result for people."""
    labels = result.bench.labels
    lines = [f"# {result.bench.title}", ""]
    if result.quick:
        lines += ["**A shortened run: a first impression, not a result.**", ""]
    lines += [f"Measured {result.date:%Y-%m-%d} (UTC). {result.bench.method}", "", "## Budgets", ""]
    lines += ["| budget | value | limit | kept |", "|---|---|---|---|"]
    for verdict in result.verdicts:
        value = "not measured" if verdict.value is None else number(verdict.value)
        limit = f"{verdict.budget.op} {number(verdict.budget.limit)}"
        lines.append(f"| {verdict.budget.design} | {value} | {limit} | {'yes' if verdict.ok else '**no**'} |")
    lines += ["", "## Figures", "", "| figure | median | smallest to largest | repetitions |", "|---|---|---|---|"]
    for each in result.figures.values():
        low, high = map(number, each.spread)
        name = labels.get(each.name, each.name)
        lines.append(f"| {name} | {number(each.median)} {each.unit} | {low} to {high} | {len(each.values)} |")
    if result.bench.beside is not None:
        lines += ["", *_beside(result.bench.beside, result.figures, labels)]
    for title, picture in pictures:
        lines += ["", f"![{title}]({picture})"]
    if result.missing:
        lines += ["", "## Not measured", ""]
        lines += [f"- {labels.get(each.name, each.name)}: {each.reason}" for each in result.missing]
    lines += ["", "## Conditions", ""]
    for title, facts in (("machine", result.machine), ("versions", result.versions), ("settings", result.settings)):
        lines.append(f"- {title}: {', '.join(f'{name} {value}' for name, value in facts.items())}")
    return "\n".join(lines) + "\n"


def _beside(beside: Beside, figures: Figures, labels: Mapping[str, str]) -> list[str]:
    """A table of ours and theirs."""
    lines = [f"## {beside.title}", "", beside.note, ""]
    lines += [f"| what | here | {' | '.join(beside.columns)} |", "|---" * (len(beside.columns) + 2) + "|"]
    for name, *cells in beside.rows:
        found = figures.get(name)
        ours = "not measured" if found is None else f"{number(found.median)} {found.unit}"
        lines.append(f"| {labels.get(name, name)} | {ours} | {' | '.join(cells)} |")
    return lines


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
