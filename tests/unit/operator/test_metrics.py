"""What the operator tells of its groups, and that it stops telling what it no longer knows."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from paceline_operator.api.meta import Condition
from paceline_operator.handlers.metrics import Metrics
from paceline_operator.handlers.reporter import Reporter
from paceline_operator.handlers.services import Services

BUILDS = ("ci", "builds")
Shown = dict[tuple[str, ...], float]


def conditions(metrics: Metrics) -> Shown:
    return {
        (each.labels["group"], each.labels["type"], each.labels["reason"]): each.value
        for family in metrics.registry.collect()
        if family.name == "paceline_group_condition"
        for each in family.samples
    }


def groups(metrics: Metrics) -> set[str]:
    """Those about which anything at all is told."""
    return {
        each.labels["group"]
        for family in metrics.registry.collect()
        for each in family.samples
        if "group" in each.labels
    }


def full() -> Metrics:
    """Of two groups, with a series in every metric that is about groups."""
    metrics = Metrics()
    for group in ("builds", "tests"):
        metrics.show_conditions("ci", group, {"Ready": ("AsWanted", True)})
        for metric in (metrics.runners, metrics.rollouts):
            metric.labels("ci", group, "any")
        for metric in metrics._of_groups:
            if metric._labelnames == ("namespace", "group"):
                metric.labels("ci", group)
    told = {family.name for family in metrics.registry.collect() for each in family.samples if "group" in each.labels}
    assert len(told) == len(metrics._of_groups)
    return metrics


def test_a_condition_is_shown_with_the_reason_that_it_has_now() -> None:
    metrics = Metrics()
    metrics.show_conditions(*BUILDS, {"Progressing": ("RolloutStalled", False), "Ready": ("RollingOut", False)})
    metrics.show_conditions(*BUILDS, {"Progressing": ("Stable", True), "Ready": ("RollingOut", False)})
    assert conditions(metrics) == {("builds", "Progressing", "Stable"): 1, ("builds", "Ready", "RollingOut"): 0}


def test_a_condition_that_is_no_more_is_not_shown() -> None:
    metrics = Metrics()
    metrics.show_conditions(*BUILDS, {"LeaderElected": ("NobodyEligible", False), "Ready": ("AsWanted", True)})
    metrics.show_conditions("ci", "tests", {"LeaderElected": ("NobodyEligible", False)})
    metrics.show_conditions(*BUILDS, {"Ready": ("AsWanted", True)})
    assert conditions(metrics) == {("builds", "Ready", "AsWanted"): 1, ("tests", "LeaderElected", "NobodyEligible"): 0}


def test_what_nobody_knows_is_neither_true_nor_false() -> None:
    metrics = Metrics()
    services = cast("Services", SimpleNamespace(metrics=metrics))
    moment: dict[str, Any] = {"message": "", "last_transition_time": datetime(2026, 1, 5, tzinfo=UTC)}
    Reporter(BUILDS, services)._show(
        [
            Condition(type="Ready", status="False", reason="Unreachable", **moment),
            Condition(type="LeaderElected", status="Unknown", reason="Unreachable", **moment),
        ]
    )
    assert conditions(metrics) == {("builds", "Ready", "Unreachable"): 0}


def test_of_a_group_that_is_gone_nothing_is_told_and_of_others_everything() -> None:
    metrics = full()
    metrics.forget(*BUILDS)
    assert groups(metrics) == {"tests"}
    metrics.show_conditions(*BUILDS, {"Ready": ("AsWanted", True)})
    assert ("builds", "Ready", "AsWanted") in conditions(metrics)


def test_an_operator_that_acts_no_more_tells_nothing_of_groups() -> None:
    metrics = full()
    metrics.forget_all()
    assert groups(metrics) == set()
    metrics.show_conditions(*BUILDS, {"Ready": ("ScalingUp", False)})
    assert conditions(metrics) == {("builds", "Ready", "ScalingUp"): 0}
