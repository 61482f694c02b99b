"""The bench of updates itself, small, on real control planes, a real operator and real Deployments."""

import functools
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.bench.live import live
from paceline_bench import rolling, rollout

SMALL = rolling.Size(runners=2, short=0.5, long=2.0, watched=1)


@pytest.mark.timeout(600)
async def test_every_figure_is_measured_and_judged_and_what_happened_is_drawn(tmp_path: Path) -> None:
    bench = replace(rollout.BENCH, function=functools.partial(rollout.measure, size=SMALL))
    found = await live(bench, tmp_path)
    assert found.missing == {}
    told = found.report
    figures = {each["name"]: each["median"] for each in told["figures"]}
    assert all(0 < figures[f"seconds_{who}"] < 120 for who in rolling.SUBJECTS)
    assert all(figures[f"interrupted_{who}"] == 0 for who in ("group", "deployment")), "both let runners finish"
    assert figures["least_group"] == SMALL.runners
    assert {each["name"]: each["ok"] for each in told["budgets"]} == {"interrupted_group": True, "least_group": False}
    curves = {each["name"]: each["values"] for each in told["curves"]}
    assert max(curves["capacity_group"]) > SMALL.runners, "first one more"
    assert found.drawn["rollout-capacity.svg"] == list(rolling.CURVES)
