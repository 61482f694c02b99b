"""The assessment as a command: run it, keep what was seen, and write the page from what was kept."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from paceline_bench import machine, paceline_command
from paceline_bench.assess import page
from paceline_bench.assess.pictures import draw_all
from paceline_bench.assess.plan import Plan
from paceline_bench.assess.results import NAME, Results
from paceline_bench.assess.seen import Gap, Seen
from paceline_bench.assess.station import assess
from paceline_bench.bench import Run
from paceline_bench.plots import Draw
from paceline_bench.report import RESULTS
from paceline_dev.generated import drift_of, write_all

DOCS: Final = RESULTS.parents[1] / "docs"
AGAIN: Final = "PYTHONPATH=bench python -m paceline_bench assess-page"


def play(run: Run, plan: Plan, output: Path, docs: Path, draw: Draw) -> int:
    """Run it; the exit code says whether everything that was planned was measured."""
    paceline_command.require()
    results = asyncio.run(measure(run, plan))
    file = write(results, output, docs, draw)
    run.report.line(f"results: {file.name}, {file.stem}.md and {page.PAGE}")
    return 1 if results.missing else 0


async def measure(run: Run, plan: Plan) -> Results:
    """Everything that is planned."""
    facts = machine.machine()  # before the run, whose writes would slow the disk down
    cells: list[Seen] = []
    missing: list[Gap] = []
    async for each in assess(run, plan):
        if isinstance(each, Seen):
            cells.append(each)
        else:
            run.report.line(f"not measured: {each.name}: {each.reason}")
            missing.append(each)
    return Results(
        date=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        quick=not plan.whole,
        cells=cells,
        missing=missing,
        settings=run.settings,
        versions={**machine.versions(), **run.versions},
        machine=facts,
    )


def write(results: Results, output: Path, docs: Path, draw: Draw) -> Path:
    """The results, and the page from what can be read back from them."""
    output.mkdir(parents=True, exist_ok=True)
    file = output / f"{NAME}.json"
    file.write_text(results.text())
    draw_all(Results.read(file).cells, output, draw)
    rewrite(output, docs)
    return file


def rewrite(output: Path, docs: Path) -> None:
    """Both pages, from the results that are kept."""
    for folder, name, text in _pages(output, docs):
        write_all(folder, {name: text})


def drift(output: Path, docs: Path) -> list[str]:
    """One line for each file that is not what the results give."""
    return [
        line
        for folder, name, text in _pages(output, docs)
        for line in drift_of(folder, {name: text}, pattern=name, command=AGAIN)
    ]


def _pages(output: Path, docs: Path) -> list[tuple[Path, str, str]]:
    kept = Results.read(output / f"{NAME}.json")
    return [(docs, page.PAGE, page.render(kept)), (output, f"{NAME}.md", kept.markdown())]
