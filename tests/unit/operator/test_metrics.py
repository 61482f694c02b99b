"""What the operator tells of its groups, and that it stops telling what it no longer knows."""

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from paceline_operator.adapters.queue import QueueTroubleError
from paceline_operator.api.meta import Condition
from paceline_operator.domain.reasons import Reason
from paceline_operator.handlers.metrics import Metrics
from paceline_operator.handlers.reporter import Reporter
from paceline_operator.handlers.services import Services
from unit.operator.test_scaler import NOTHING
from unit.operator.world import World

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
    about = [each for each in vars(metrics).values() if getattr(each, "_labelnames", ())[:2] == ("namespace", "group")]
    assert len(about) >= 12
    for metric in about:
        for group in ("builds", "tests"):
            metric.labels("ci", group, *["any"] * (len(metric._labelnames) - 2))
    assert groups(metrics) == {"builds", "tests"}
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


def told(metrics: Metrics, name: str) -> Shown:
    """The series of one metric, by the values of its labels."""
    samples = [each for family in metrics.registry.collect() for each in family.samples if each.name == name]
    return {tuple(each.labels[key] for key in sorted(each.labels)): each.value for each in samples}


def test_what_the_queue_holds_and_who_is_there_is_told_as_it_was_seen() -> None:
    metrics = Metrics()
    reporter = Reporter(BUILDS, cast("Services", SimpleNamespace(metrics=metrics)))
    seen = replace(NOTHING, ready=5, dead=3, unclaimable=2, oldest_seconds=12.5)
    reporter._measure(World(replicas=2).settle(), seen, None, 40.0)
    group = ("builds", "ci")
    assert told(metrics, "paceline_runners_wanted") == {group: 2}
    assert told(metrics, "paceline_runners")["builds", "ci", "ready"] == 2
    for name, value in (
        ("paceline_jobs_ready", 5), ("paceline_job_oldest_seconds", 12.5), ("paceline_jobs_dead", 3),
        ("paceline_jobs_unclaimable", 2), ("paceline_vacuum_held_seconds", 40), ("paceline_queue_reachable", 1),
    ):  # fmt: skip
        assert told(metrics, name) == {group: value}, name


def test_while_the_database_is_away_what_it_last_said_stays() -> None:
    metrics = Metrics()
    reporter = Reporter(BUILDS, cast("Services", SimpleNamespace(metrics=metrics)))
    made = World(replicas=2).settle()
    reporter._measure(made, replace(NOTHING, dead=3), None, 40.0)
    reporter._measure(made, None, QueueTroubleError(Reason.UNREACHABLE, "gone"), 100.0)
    assert told(metrics, "paceline_queue_reachable") == {("builds", "ci"): 0}
    assert told(metrics, "paceline_jobs_dead") == {("builds", "ci"): 3}
    assert told(metrics, "paceline_vacuum_held_seconds") == {("builds", "ci"): 40}
