"""The pieces of the bench of updates that need no cluster."""

from paceline_bench import budgets, rolling
from paceline_bench.measure import Measurement, collect, derive
from paceline_bench.rollout import BENCH


def test_every_figure_and_curve_has_a_label_and_every_budget_a_figure() -> None:
    named = set(rolling.FIGURES) | {each.name for each in BENCH.derived}
    assert named | set(rolling.CURVES) == set(BENCH.labels)
    assert {each.name for each in budgets.load("rollout")} <= named
    for plot in BENCH.plots:
        assert set(plot.names) <= (set(rolling.CURVES) if plot.kind == "steps" else named)


def test_one_interrupted_attempt_or_one_runner_too_few_misses_a_budget() -> None:
    def missed(interrupted: float, least: float) -> set[str]:
        found = [
            Measurement("interrupted_group", interrupted, "attempts"), Measurement("least_group", least, "runners"),
        ]  # fmt: skip
        judged = budgets.judge(budgets.load("rollout"), derive(collect(found), BENCH.derived))
        return {each.budget.name for each in judged if not each.ok}

    assert missed(0, 50) == set()
    assert missed(1, 50) == {"interrupted_group"}
    assert missed(0, 49) == {"least_group"}


def test_both_deployments_have_the_pods_of_a_group_but_for_how_they_end() -> None:
    ours, plain = rolling.deployment(3, ours=True), rolling.deployment(3, ours=False)
    pod, other = (each["spec"]["template"]["spec"] for each in (ours, plain))
    assert (pod["terminationGracePeriodSeconds"], other.get("terminationGracePeriodSeconds")) == (330, None)
    assert pod["containers"][0].pop("lifecycle")["preStop"]["exec"]["command"] == ["paceline", "drain", "--wait"]
    assert pod["containers"] == other["containers"]
