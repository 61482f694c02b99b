"""The pieces of the bench of two operators that need no cluster."""

from paceline_bench import budgets
from paceline_bench.failover import BENCH, ENDS, KILLS, QUICK_ROUNDS, ROUNDS
from paceline_bench.measure import Measurement, collect, derive


def test_every_figure_has_a_label_and_every_budget_a_figure() -> None:
    named = {KILLS, ENDS} | {each.name for each in BENCH.derived}
    assert named == set(BENCH.labels)
    assert {each.name for each in budgets.load("failover")} <= named
    assert {name for plot in BENCH.plots for name in plot.names} <= named


def test_the_longest_is_judged_and_not_only_the_median() -> None:
    slow = [Measurement(KILLS, seconds, "s") for seconds in (8.0, 8.5, 12.0)]
    quick = [Measurement(ENDS, seconds, "s") for seconds in (0.5, 0.6)]
    figures = derive(collect([*slow, *quick]), BENCH.derived)
    verdicts = {each.budget.name: each.ok for each in budgets.judge(budgets.load("failover"), figures)}
    assert verdicts == {"kill_to_act": True, "kill_to_act_max": False, "term_to_act_max": True}


def test_a_full_run_is_as_long_as_the_budget_says() -> None:
    assert (ROUNDS[KILLS], ROUNDS[ENDS]) == (10, 5)
    assert all(QUICK_ROUNDS[name] < count for name, count in ROUNDS.items())
