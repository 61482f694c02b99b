"""The bench of autoscaling itself, small, on real control planes and a real operator."""

import functools
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.bench.live import live
from paceline_bench import autoscale, cycles, simulated, sleeping, waking

SMALL = autoscale.Size(
    rounds=1,
    tries=2,
    sleeping=sleeping.Size(groups=3, quiet=1, seconds=2),
    cycles=cycles.Size(cycles=10, burst=8),
    jobs=5,
    day="steady:20/h",
    day_jobs=100,
)


@pytest.mark.timeout(600)
async def test_every_figure_is_measured_and_judged_and_what_happened_is_drawn(tmp_path: Path) -> None:
    bench = replace(autoscale.BENCH, function=functools.partial(autoscale.measure, size=SMALL))
    found = await live(bench, tmp_path)
    turns = {"reconcile_p50_200_groups", "reconcile_p99_200_groups"}
    # a group that nobody wakes has its turn every 15 s
    assert set(found.missing) <= turns, found.missing
    told = found.report

    figures = {each["name"]: each for each in told["figures"]}
    assert len(figures[waking.WAKE]["repetitions"]) == SMALL.tries
    assert all(0 < figures[name]["median"] < 60 for name in (waking.WAKE, waking.BURST, simulated.NAME))
    assert figures["connections_200_groups"]["median"] == 3, "two, and one that listens"
    assert figures["cycles"]["median"] >= SMALL.cycles.cycles
    assert figures["cycles_jobs"]["median"] >= SMALL.cycles.burst
    assert figures["cycles_interrupted"]["median"] == 0

    verdicts = {each["name"]: each["ok"] for each in told["budgets"]}
    assert verdicts["cycles"] is False, "these were not a thousand"
    assert verdicts["cycles_interrupted"] is True
    assert verdicts["simulate_million"] is True

    curves = {each["name"]: each for each in told["curves"]}
    assert max(curves[waking.MADE]["values"]) == SMALL.jobs
    assert curves[waking.WANTED]["values"][-1] == SMALL.jobs
    assert max(curves[cycles.WANTED]["values"]) >= SMALL.cycles.burst // 2
    assert all(each["seconds"] == sorted(each["seconds"]) for each in curves.values())
    assert found.drawn["autoscale-cycles.svg"] == [cycles.WANTED, cycles.THERE, cycles.WAITING]
