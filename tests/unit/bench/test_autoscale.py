"""The pieces of the bench of autoscaling that need no cluster."""

import contextlib
import io
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from paceline.scaling import DecisionSeen
from paceline_bench import budgets, cycles, simulated, sleeping, waking
from paceline_bench import on_site as sites
from paceline_bench.autoscale import BENCH, FULL, QUICK
from paceline_bench.bench import Run
from paceline_bench.cycles import figures
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement, Missing, collect, derive
from paceline_bench.report import measure
from paceline_bench.scaled import as_points, block
from paceline_bench.site import group
from paceline_dev.progress import PlainReporter
from paceline_operator.api.v1alpha1 import RunnerGroup

MEASURED = {waking.WAKE, waking.BURST, *sleeping.FIGURES, *cycles.FIGURES, simulated.NAME}
CURVES = {waking.WANTED, waking.MADE, cycles.WANTED, cycles.THERE, cycles.WAITING}
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def _missed(found: list[Measurement]) -> set[str]:
    limits = [each for each in budgets.load("autoscale") if each.name.startswith(found[0].name)]
    return {each.budget.name for each in budgets.judge(limits, derive(collect(found), BENCH.derived)) if not each.ok}


def test_every_figure_and_curve_has_a_label_and_every_budget_a_figure() -> None:
    named = MEASURED | {each.name for each in BENCH.derived}
    assert named | CURVES == set(BENCH.labels)
    assert {each.name for each in budgets.load("autoscale")} <= named
    for plot in BENCH.plots:
        assert set(plot.names) <= (CURVES if plot.kind == "steps" else named)
    assert BENCH.beside is not None
    assert {row[0] for row in BENCH.beside.rows} <= named
    assert {len(row) for row in BENCH.beside.rows} == {len(BENCH.beside.columns) + 1}


def test_a_full_run_is_as_long_as_the_budgets_say() -> None:
    assert (FULL.tries, FULL.jobs, FULL.cycles.cycles, FULL.day_jobs) == (50, 400, 1000, 1_000_000)
    assert (FULL.sleeping.groups, FULL.sleeping.seconds) == (200, 60)
    assert QUICK.tries < FULL.tries
    assert QUICK.cycles.cycles < FULL.cycles.cycles


def test_the_slowest_of_fifty_pods_is_judged_and_not_only_the_median() -> None:
    quick = [Measurement(waking.WAKE, 0.05, "s")] * 49
    assert _missed([*quick, Measurement(waking.WAKE, 0.4, "s")]) == set()
    assert _missed([*quick, Measurement(waking.WAKE, 0.6, "s")]) == {"enqueue_to_pod_p99"}


def test_one_interrupted_job_or_too_few_cycles_miss_a_budget() -> None:
    assert _missed(figures(1000, [3], 50, 50, 0, 1.0)) == set()
    assert _missed(figures(1000, [3], 50, 50, 1, 1.0)) == {"cycles_interrupted"}
    assert _missed(figures(999, [3], 50, 50, 0, 1.0)) == {"cycles"}


def test_a_job_of_which_nothing_is_known_spoils_the_cycles() -> None:
    with pytest.raises(NotMeasuredError, match="49 of 50 jobs were done well"):
        figures(1000, [3], 50, 49, 0, 1.0)
    assert _missed(figures(1000, [3], 50, 49, 4, 1.0)) == {"cycles_interrupted"}, "it was lost too often"


def test_a_day_of_fewer_jobs_or_of_unfinished_ones_is_no_result() -> None:
    simulated.check({"jobs": 1_000_001, "unfinished": 0}, 1_000_000)
    with pytest.raises(NotMeasuredError, match="only 999,999 of 1,000,000"):
        simulated.check({"jobs": 999_999, "unfinished": 0}, 1_000_000)
    with pytest.raises(NotMeasuredError, match="7 jobs were not done"):
        simulated.check({"jobs": 1_000_001, "unfinished": 7}, 1_000_000)


def test_a_curve_begins_with_what_was_decided_last_before_it() -> None:
    def decided(seconds: float, replicas: int) -> DecisionSeen:
        at = NOW + timedelta(seconds=seconds)
        return DecisionSeen(at=at, was=0, replicas=replicas, reason="", limited_by=None, inputs={}, proposals=[])

    assert as_points([decided(-5, 4), decided(-1, 2), decided(0.5, 7)], NOW) == ((0.0, 2.0), (0.5, 7.0))
    assert as_points([], NOW) == ((0.0, 0.0),)


def test_a_group_of_the_bench_scales_by_its_queue_and_shrinks_at_once() -> None:
    scaling = RunnerGroup.model_validate(group("builds", 0, autoscaling=block(400))).spec.autoscaling
    assert scaling is not None
    assert (scaling.mode, scaling.min_replicas, scaling.max_replicas) == ("Internal", 0, 400)
    assert scaling.behavior is not None
    assert scaling.behavior.scale_down is not None
    assert scaling.behavior.scale_down.stabilization_window_seconds == 0


async def test_a_part_that_fails_costs_its_own_figures_and_misses_its_own_budgets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts: Iterator[list[Measurement]] = iter(
        [
            [Measurement(waking.WAKE, 0.1, "s")],
            *[[Measurement(waking.BURST, 5, "s")]] * FULL.rounds,
            [Measurement(name, 1, "x") for name in sleeping.FIGURES],
        ]
    )

    async def on_site(*_: object) -> list[Measurement]:
        if (found := next(parts, None)) is None:
            raise NotMeasuredError("no burst was ever over")
        return found

    async def simulate(*_: object) -> list[Measurement]:
        return [Measurement(simulated.NAME, 5, "s")]

    async def facts(_: object) -> tuple[str, dict[str, object]]:
        return "18", {}

    @contextlib.asynccontextmanager
    async def templates(_: object) -> AsyncIterator[None]:
        yield

    monkeypatch.setattr(sites, "find_binaries", lambda _: None)
    monkeypatch.setattr(sites, "bench_server", contextlib.nullcontext)
    monkeypatch.setattr(sites, "server_facts", facts)
    monkeypatch.setattr(sites, "Templates", templates)
    monkeypatch.setattr(sites, "on_site", on_site)
    monkeypatch.setattr(simulated, "simulate", simulate)
    result = await measure(BENCH, Run(report=PlainReporter(io.StringIO())))
    assert [each.budget.name for each in result.missed] == ["cycles", "cycles_interrupted"]
    assert list(result.missing) == [Missing(name, "no burst was ever over") for name in cycles.FIGURES]
    assert len(result.figures[waking.BURST].values) == FULL.rounds
