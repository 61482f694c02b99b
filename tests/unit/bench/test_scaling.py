"""What breaks first, computed: the arithmetic, and that the page shows what the results say."""

from pathlib import Path

import pytest

from paceline_bench import marked
from paceline_bench.errors import BenchError
from paceline_bench.report import RESULTS
from paceline_bench.scaling import constants, loads, page, played
from paceline_dev import REPOSITORY
from paceline_runner.settings import Settings

SEEN = dict.fromkeys((each.name for each in constants.WANTED), 1.0) | {
    "idle": 300.0, "steps": 2_000.0, "operator_cpu": 0.005, "operator_group_cpu": 0.04,
    "operator_mb": 0.1, "create": 0.01,
}  # fmt: skip


def load(what: str) -> loads.Load:
    (found,) = [each for each in loads.loads(SEEN) if each.what == what]
    return found


def test_the_page_shows_what_the_results_say() -> None:
    assert marked.drift(page.PAGE, page.tables(constants.read(RESULTS), played.read(RESULTS))) == []


def test_a_result_that_changes_changes_the_page() -> None:
    seen, days = constants.read(RESULTS), played.read(RESULTS)
    assert marked.drift(page.PAGE, page.tables(seen | {"wal": 2 * seen["wal"]}, days)) == [
        "docs/scaling.md differs from the results (run make crds)"
    ]


def test_a_result_that_is_missing_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"queue\.json is missing: run make bench-queue"):
        constants.read(tmp_path)
    (tmp_path / "queue.json").write_text('{"figures": []}')
    with pytest.raises(BenchError, match=r"queue\.json has no runner_50_1p: run make bench-queue"):
        constants.read(tmp_path)
    with pytest.raises(BenchError, match=r"scaling\.json is missing: run .*--play"):
        played.read(tmp_path)


def test_what_is_reached_first_comes_first() -> None:
    upto = [each.upto() for each in loads.loads(SEEN)]
    limited = [each for each in upto if each is not None]
    assert upto == [*sorted(limited), *[None] * (len(upto) - len(limited))]
    assert round(load("connections, straight").upto() or 0) == 33


def test_polls_end_at_150_a_second_and_heartbeats_do_not() -> None:
    of = loads.idle_statements(SEEN)
    assert of(1_000) == 300, "what was measured comes out again"
    assert of(2_000) - of(1_000) == 100
    assert round(load("statements of idle runners").upto() or 0) == 18_000


def test_a_limit_that_is_passed_is_bold() -> None:
    (row,) = [line for line in page.breaking(SEEN) if line.startswith("| operator at rest |")]
    assert row.startswith("| operator at rest | 50 % of a core | **500 % of a core** | **5,000 % of a core** |")


def test_groups_fill_the_operator_long_before_runners_do() -> None:
    (row,) = [line for line in page.breaking(SEEN) if line.startswith("| operator at rest, so many groups |")]
    assert "| its one core | 2,500 groups |" in row
    assert row.startswith("| operator at rest, so many groups | **400 % of a core** |")
    assert "| 20,000 runners |" in next(line for line in page.breaking(SEEN) if line.startswith("| operator at rest |"))


def test_the_numbers_that_nobody_measured_are_those_of_code_and_pages() -> None:
    assert Settings(database_url="", name="x", pool="x").heartbeat == loads.HEARTBEAT
    dispatcher = (REPOSITORY / "runner-image/paceline_runner/dispatcher.py").read_text()
    assert f"max(5.0, step.runners / {loads.POLLS:g})" in dispatcher
    operate = (REPOSITORY / "docs/how-to/operate.md").read_text()
    assert "| runner | `--dispatchers` (1) + 2 |" in operate
    assert "| gateway | `--connections` (10) + 3 |" in operate
    assert (loads.CONNECTIONS, loads.GATEWAY_CONNECTIONS) == (1 + 2, 10 + 3)
    assert "limits: {memory: 512Mi}" in (REPOSITORY / "manifests/base/deployment.yaml").read_text()


def test_a_day_has_its_peak_at_so_many_runners() -> None:
    assert played.curve(9_000) == "day:2.5000/s"
    assert f"--curve {played.curve(played.SIZES[-1])} --service 1h --startup {played.STARTUP}" in page.PAGE.read_text()
