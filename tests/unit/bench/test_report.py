"""What a run leaves behind: files that others read, and an exit code that a script can trust."""

import io
import json
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from paceline_bench.__main__ import play
from paceline_bench.bench import Bench, Beside, Plot, Run
from paceline_bench.budgets import Budget
from paceline_bench.errors import BenchError
from paceline_bench.measure import Curve, Measurement, Missing, Ratio, number
from paceline_bench.plots import Shown
from paceline_bench.report import Result, as_json, as_markdown, measure, write
from paceline_dev import REPOSITORY
from paceline_dev.progress import PlainReporter

RATES = {"ours": [300.0, 330.0, 360.0], "theirs": [100.0, 110.0, 90.0]}


async def _function(run: Run) -> AsyncIterator[Measurement | Missing]:
    run.settings["jobs"] = 10
    run.versions["postgres"] = "18.4"
    run.curves["size"] = Curve("size", "runners", ((0.0, 1.0), (2.5, 3.0)))
    for turn in range(3):
        for name, rates in RATES.items():
            yield Measurement(name, rates[turn], "jobs/s")
    yield Missing("third", "there is none")


BENCH = Bench(
    name="toy",
    title="A toy",
    method="By hand.",
    function=_function,
    derived=(Ratio("ratio", "ours", "theirs"),),
    plots=(
        Plot(file="rates", title="Rates", kind="bars", names=("ours", "theirs", "third")),
        Plot(file="none", title="Nothing", kind="bars", names=("third",)),
        Plot(file="sizes", title="Sizes", kind="steps", names=("size", "ours")),
    ),
    beside=Beside(
        title="Beside them",
        note="Measured earlier.",
        columns=("slow", "fast"),
        rows=(("ours", "1 job/s", "2 jobs/s"), ("third", "", "3")),
    ),
    labels={"ours": "our own", "theirs": "theirs", "third": "a third", "size": "size"},
)


def _run(**options: Any) -> Run:
    return Run(report=PlainReporter(io.StringIO()), **options)


def _texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def _limit(limit: float) -> list[Budget]:
    return [Budget("toy", "ratio", ">=", limit, "design 10")]


def _draw(plot: Plot, shown: Shown, labels: Mapping[str, str], file: Path) -> None:
    file.write_text(f"{plot.title}: {', '.join(labels[each.name] for each in shown)}")


@pytest.fixture
async def result() -> Result:
    return await measure(BENCH, _run(), _limit(2.5))


async def test_the_json_has_the_verdicts_the_repetitions_and_the_conditions(result: Result) -> None:
    told = json.loads(json.dumps(as_json(result)))
    assert told["budgets"] == [
        {"name": "ratio", "value": 3.0, "op": ">=", "limit": 2.5, "ok": True, "design": "design 10"}
    ]
    assert told["ok"] is True
    assert told["quick"] is False
    assert [figure["name"] for figure in told["figures"]] == ["ours", "theirs", "ratio"]
    assert told["figures"][0] == {
        "name": "ours", "unit": "jobs/s", "median": 330, "min": 300, "max": 360, "repetitions": [300, 330, 360],
    }  # fmt: skip
    assert told["curves"] == [{"name": "size", "unit": "runners", "seconds": [0, 2.5], "values": [1, 3]}]
    assert told["missing"] == [{"name": "third", "reason": "there is none"}]
    assert told["settings"] == {"jobs": 10}
    assert told["versions"]["postgres"] == "18.4"
    assert set(told["versions"]) > {"python", "asyncpg", "pgqueuer", "procrastinate", "psycopg"}
    assert told["machine"]["cores"] == os.cpu_count()
    assert told["machine"]["fdatasync_us"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", told["date"])


async def test_the_markdown_shows_medians_with_their_spread_and_what_is_missing(result: Result) -> None:
    text = as_markdown(result, [("Rates", "toy-rates.svg")])
    assert "| design 10 | 3 | >= 2.5 | yes |" in text
    assert "| our own | 330 jobs/s | 300 to 360 | 3 |" in text
    assert "- a third: there is none" in text
    assert "## Beside them\n\nMeasured earlier.\n\n| what | here | slow | fast |\n|---|---|---|---|\n" in text
    assert "| our own | 330 jobs/s | 1 job/s | 2 jobs/s |\n| a third | not measured |  | 3 |" in text
    assert "![Rates](toy-rates.svg)" in text
    assert "shortened" not in text


@pytest.mark.parametrize("options", [{"quick": True}, {"jobs": 100}, {"rounds": 1}, {"only": frozenset({"ours"})}])
async def test_a_shortened_run_says_so(options: dict[str, object]) -> None:
    result = await measure(BENCH, _run(**options), [])
    assert as_json(result)["quick"] is True
    assert "A shortened run" in as_markdown(result)


async def test_a_picture_without_figures_is_not_left_from_an_older_run(result: Result, tmp_path: Path) -> None:
    (tmp_path / "toy-none.svg").write_text("old")
    file = write(result, tmp_path, _draw)
    assert file == tmp_path / "toy.json"
    texts = _texts(tmp_path)
    assert set(texts) == {"toy.json", "toy.md", "toy-rates.svg", "toy-sizes.svg"}
    assert texts["toy-rates.svg"] == "Rates: our own, theirs"
    assert texts["toy-sizes.svg"] == "Sizes: size", "steps are of curves, never of figures"


async def test_nothing_says_whose_machine_it_was(result: Result, tmp_path: Path) -> None:
    write(result, tmp_path, _draw)
    text = "".join(_texts(tmp_path).values())
    for path in (REPOSITORY, Path.home(), Path(sys.prefix), Path(tempfile.gettempdir()), tmp_path):
        assert not re.search(rf"{re.escape(str(path))}\b", text), path
    assert not re.search(rf"\b{re.escape(os.uname().nodename)}\b", text)


@pytest.mark.parametrize(("limit", "code", "word"), [(2.5, 0, "kept"), (3.5, 1, "missed")])
def test_a_missed_budget_fails_the_run_and_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    limit: float,
    code: int,
    word: str,
) -> None:
    monkeypatch.setattr("paceline_bench.__main__.draw", _draw)
    assert play(BENCH, _run(), tmp_path, _limit(limit)) == code
    assert json.loads((tmp_path / "toy.json").read_text())["ok"] is (code == 0)
    assert re.search(rf"^{word} +ratio: 3 ", capsys.readouterr().out, re.MULTILINE)


def test_a_figure_that_does_not_exist_cannot_be_asked_for(tmp_path: Path) -> None:
    run = Run(report=PlainReporter(io.StringIO()), only=frozenset({"ous"}))
    with pytest.raises(BenchError, match="toy has no figure ous"):
        play(BENCH, run, tmp_path, [])


@pytest.mark.parametrize(
    ("value", "text"), [(41_250.4, "41,250"), (132.4, "132"), (2.366, "2.37"), (0.0812, "0.0812"), (0, "0")]
)
def test_numbers_are_written_for_people(value: float, text: str) -> None:
    assert number(value) == text
