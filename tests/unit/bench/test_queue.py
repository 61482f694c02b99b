"""The pieces of the bench of the queue that need no database."""

import math

from paceline_bench import budgets
from paceline_bench.measure import Measurement, collect, derive
from paceline_bench.queue import depth, enqueuing, horizon, keyed, latency, starting, throughput
from paceline_bench.queue.bench import BENCH, FULL, QUICK
from paceline_bench.subjects import Emptied

MEASURED = {
    *throughput.NAMES, *throughput.COST_NAMES, *enqueuing.NAMES, *keyed.NAMES, *starting.NAMES, *latency.NAMES,
    *depth.NAMES, *horizon.NAMES,
}  # fmt: skip
STEADY = [(0.25 * number, 100.0 * number) for number in range(41)]
"""400 jobs a second for ten seconds."""


def test_every_figure_and_curve_has_a_label_and_every_budget_a_figure() -> None:
    named = MEASURED | {each.name for each in BENCH.derived}
    assert named | set(horizon.CURVES) == set(BENCH.labels)
    assert len(set(BENCH.labels.values())) > len(BENCH.labels) / 2
    assert {each.name for each in budgets.load("queue")} <= named
    for plot in BENCH.plots:
        assert set(plot.names) <= (set(horizon.CURVES) if plot.kind == "steps" else named)


def test_a_full_run_is_as_large_as_the_budgets_say() -> None:
    assert (FULL.latency.million, FULL.latency.blocked, latency.LANES) == (1_000_000, 20_000, 500)
    assert (FULL.horizon.seconds, horizon.LAST, depth.POOLS) == (30, 2.0, 200)
    assert (throughput.BATCHES, throughput.PROCESSES) == ((1, 10, 50, 200), (1, 2))
    assert FULL.throughput.rounds > QUICK.throughput.rounds


def test_a_claim_that_grows_with_what_waits_misses_its_budget() -> None:
    def missed(waiting: float) -> set[str]:
        found = [Measurement("claim_1k", 1.0, "ms"), Measurement("claim_1m_future", waiting, "ms")]
        limits = [each for each in budgets.load("queue") if each.name == "claim_1m_future_ratio"]
        return {
            each.budget.name for each in budgets.judge(limits, derive(collect(found), BENCH.derived)) if not each.ok
        }

    assert missed(1.29) == set()
    assert missed(1.31) == {"claim_1m_future_ratio"}


def test_the_last_seconds_are_told_apart_from_the_whole() -> None:
    whole, last = horizon.rates(STEADY)
    assert math.isclose(whole, 400)
    assert math.isclose(last, 400)
    stalled = [*STEADY, *((10 + 0.25 * number, 4000.0) for number in range(1, 9))]
    whole, last = horizon.rates(stalled)
    assert math.isclose(whole, 4000 / 12)
    assert last == 0


def test_the_curve_is_the_rate_second_by_second() -> None:
    found = horizon.curve("x", STEADY)
    assert [round(at, 2) for at, _ in found.points] == [float(second) for second in range(10)]
    assert {rate for _, rate in found.points} == {400.0}


def test_what_a_job_costs_the_database_is_told_once_for_everybody() -> None:
    emptied = Emptied(rate=1000, wal=500, commits=0.02)
    costs = [each.name for each in throughput.figures("sdk_50_1p", emptied)]
    assert costs == ["sdk_50_1p", "wal_sdk", "commits_sdk"]
    assert [each.name for each in throughput.figures("sdk_50_2p", emptied)] == ["sdk_50_2p"]
