"""What each rule makes of the size, and in which order."""

from datetime import timedelta

import pytest
from pydantic import JsonValue

from paceline_operator.domain.scaling.decide import ScaleReason, decide, decide_blind, record_change
from paceline_operator.domain.scaling.history import Change, History
from paceline_operator.domain.scaling.rules import quantity, tolerance_problems
from paceline_operator.domain.scaling.signals import Signals
from unit.scaling.cases import NOW, ago, said, sized, spec_of

OFFICE: JsonValue = [{"cron": "0 8 * * 1-5", "durationSeconds": 36_000, "minReplicas": 5}]


def behaving(**directions: JsonValue) -> dict[str, JsonValue]:
    return {"behavior": directions}


def per_minute(kind: str, value: int) -> JsonValue:
    return {"type": kind, "value": value, "periodSeconds": 60}


def test_without_behavior_it_grows_at_once_and_without_limit() -> None:
    decision = sized(spec_of(), 1, 40, said((1, 1)))
    assert (decision.replicas, decision.reason, decision.limited_by) == (40, ScaleReason.WITHIN_RANGE, None)


def test_without_behavior_it_shrinks_to_the_highest_size_of_the_last_five_minutes() -> None:
    past = said((310, 30), (299, 12), (100, 7))
    held = sized(spec_of(), 20, 3, past)
    assert (held.replicas, held.reason) == (12, ScaleReason.DOWN_STABILIZED)
    assert held.limited_by == "behavior.scaleDown.stabilizationWindowSeconds"
    assert held.again_at == NOW + timedelta(seconds=1)
    freed = sized(spec_of(), 12, 3, held.history, held.again_at)
    assert freed.replicas == 7


def test_a_group_of_which_nothing_is_known_shrinks_after_the_window_only() -> None:
    first = sized(spec_of(), 9, 0)
    assert (first.replicas, first.again_at) == (9, NOW + timedelta(seconds=300))
    assert sized(spec_of(), 9, 0, first.history, NOW + timedelta(seconds=299)).replicas == 9
    assert sized(spec_of(), 9, 0, first.history, NOW + timedelta(seconds=300)).replicas == 0


def test_a_window_for_growing_waits_for_the_lowest_recommendation() -> None:
    spec = spec_of(**behaving(scaleUp={"stabilizationWindowSeconds": 60, "policies": [per_minute("Pods", 100)]}))
    decision = sized(spec, 2, 30, said((61, 1), (30, 8), (10, 20)))
    assert (decision.replicas, decision.reason) == (8, ScaleReason.UP_STABILIZED)
    assert decision.limited_by == "behavior.scaleUp.stabilizationWindowSeconds"
    assert decision.again_at == NOW + timedelta(seconds=30)


def test_windows_look_back_on_what_was_wanted_not_on_what_was_done() -> None:
    spec = spec_of(maxReplicas=5)
    decision = sized(spec, 5, 40, said((10, 5)))
    assert decision.replicas == 5
    assert decision.history.recommendations[-1].replicas == 40


@pytest.mark.parametrize(
    ("rules", "current", "ready", "size"),
    [
        ({}, 2, 40, 6),  # what is set without policies has those of the HPA: 4 runners or 100 %, whichever is more
        ({}, 10, 40, 20),
        ({"policies": [per_minute("Pods", 3)]}, 10, 40, 13),
        ({"policies": [per_minute("Percent", 10)]}, 5, 40, 6),  # 5.5, rounded up
        ({"policies": [per_minute("Percent", 10)]}, 100, 400, 111),  # 110.00000000000001 in floats, as the HPA has it
        ({"policies": [per_minute("Pods", 3), per_minute("Percent", 100)]}, 10, 40, 20),
        ({"policies": [per_minute("Pods", 3), per_minute("Percent", 100)], "selectPolicy": "Min"}, 10, 40, 13),
    ],
)
def test_policies_limit_how_fast_it_grows(rules: JsonValue, current: int, ready: int, size: int) -> None:
    decision = sized(spec_of(maxReplicas=1000, **behaving(scaleUp=rules)), current, ready)
    assert (decision.replicas, decision.reason) == (size, ScaleReason.UP_LIMIT)
    assert decision.limited_by == "behavior.scaleUp.policies"


@pytest.mark.parametrize(
    ("rules", "current", "size"),
    [
        ({"policies": [per_minute("Pods", 3)]}, 10, 7),
        ({"policies": [per_minute("Percent", 10)]}, 15, 13),  # 13.5, cut off
        ({"policies": [per_minute("Pods", 3), per_minute("Percent", 50)]}, 10, 5),
        ({"policies": [per_minute("Pods", 3), per_minute("Percent", 50)], "selectPolicy": "Min"}, 10, 7),
    ],
)
def test_policies_limit_how_fast_it_shrinks(rules: dict[str, JsonValue], current: int, size: int) -> None:
    spec = spec_of(**behaving(scaleDown={**rules, "stabilizationWindowSeconds": 0}))
    decision = sized(spec, current, 0)
    assert (decision.replicas, decision.reason) == (size, ScaleReason.DOWN_LIMIT)
    assert decision.limited_by == "behavior.scaleDown.policies"


def test_a_policy_counts_what_was_added_and_removed_within_its_period() -> None:
    spec = spec_of(**behaving(scaleUp={"policies": [per_minute("Pods", 4)]}))
    past = History(changes=(Change(ago(60), 9), Change(ago(40), 3), Change(ago(20), -2)))
    decision = sized(spec, 10, 40, past)
    assert decision.replicas == 13  # the minute began with 9, and 4 more are allowed
    assert decision.again_at == NOW + timedelta(seconds=20)


def test_a_policy_that_is_used_up_keeps_the_size() -> None:
    spec = spec_of(**behaving(scaleUp={"policies": [per_minute("Pods", 4)]}))
    assert sized(spec, 10, 40, History(changes=(Change(ago(5), 6),))).replicas == 10


def test_a_change_is_counted_once_it_was_carried_out() -> None:
    spec = spec_of(**behaving(scaleUp={"policies": [per_minute("Pods", 4)]}))
    first = sized(spec, 1, 40)
    assert sized(spec, 5, 40, first.history).replicas == 9
    assert sized(spec, 5, 40, record_change(first.history, 1, 5, NOW)).replicas == 5


def test_select_policy_disabled_never_moves_in_that_direction() -> None:
    disabled: JsonValue = {"selectPolicy": "Disabled", "stabilizationWindowSeconds": 0}
    up = sized(spec_of(**behaving(scaleUp=disabled)), 0, 9)
    assert (up.replicas, up.reason, up.limited_by) == (0, ScaleReason.DISABLED, "behavior.scaleUp.selectPolicy")
    down = sized(spec_of(**behaving(scaleDown=disabled)), 9, 0)
    assert (down.replicas, down.reason) == (9, ScaleReason.DISABLED)


@pytest.mark.parametrize(("ready", "size"), [(8, 10), (9, 10), (11, 10), (12, 12), (7, 7)])
def test_within_the_tolerance_nothing_changes(ready: int, size: int) -> None:
    rules: JsonValue = {"stabilizationWindowSeconds": 0, "tolerance": "0.2", "policies": [per_minute("Percent", 100)]}
    up: JsonValue = {"tolerance": "100m", "policies": [per_minute("Percent", 100)]}
    decision = sized(spec_of(**behaving(scaleUp=up, scaleDown=rules)), 10, ready)
    assert decision.replicas == size
    assert (decision.reason is ScaleReason.WITHIN_TOLERANCE) == (size == 10)


def test_without_a_tolerance_every_job_counts() -> None:
    spec = spec_of(**behaving(scaleUp={"policies": [per_minute("Pods", 9)]}))
    assert sized(spec, 20, 21).replicas == 21


def test_tolerance_does_not_keep_a_group_at_zero() -> None:
    spec = spec_of(**behaving(scaleUp={"tolerance": 5, "policies": [per_minute("Pods", 9)]}))
    assert sized(spec, 0, 1).replicas == 1


@pytest.mark.parametrize(
    ("written", "value"),
    [(0, 0.0), (2, 2.0), ("0.1", 0.1), ("100m", 0.1), ("1e-1", 0.1), (".5", 0.5), ("1k", 1000.0), ("1Ki", 1024.0)],
)
def test_a_quantity_is_read_as_kubernetes_does(written: int | str, value: float) -> None:
    assert quantity(written) == value


def test_a_tolerance_that_cannot_be_read_is_named_and_counts_as_none() -> None:
    spec = spec_of(**behaving(scaleUp={"tolerance": "ten"}, scaleDown={"tolerance": "-0.1"}))
    up, down = tolerance_problems(spec)
    assert up == (
        'autoscaling.behavior.scaleUp.tolerance "ten" is no quantity, or a negative one '
        '(write it like "0.1", with quotes)'
    )
    assert down.startswith('autoscaling.behavior.scaleDown.tolerance "-0.1"')
    assert sized(spec, 20, 21).replicas == 21
    assert tolerance_problems(spec_of()) == ()


def test_a_size_outside_of_the_bounds_goes_there_at_once() -> None:
    slow: JsonValue = {"stabilizationWindowSeconds": 3600, "policies": [per_minute("Pods", 1)]}
    spec = spec_of(minReplicas=5, maxReplicas=10, **behaving(scaleUp=slow, scaleDown=slow))
    past = said((10, 30), (5, 2))
    above, below = sized(spec, 30, 30, past), sized(spec, 2, 0, past)
    assert (above.replicas, above.reason, above.limited_by) == (10, ScaleReason.TOO_MANY, "maxReplicas")
    assert (below.replicas, below.reason, below.limited_by) == (5, ScaleReason.TOO_FEW, "minReplicas")
    assert above.history == past


def test_demand_beyond_the_bounds_is_cut_off_at_them() -> None:
    assert sized(spec_of(maxReplicas=10), 3, 999).limited_by == "maxReplicas"
    down = sized(spec_of(minReplicas=2), 4, 0, said((301, 4)))
    assert (down.replicas, down.reason, down.limited_by) == (2, ScaleReason.TOO_FEW, "minReplicas")


def test_a_schedule_is_a_floor_while_it_lasts() -> None:
    spec = spec_of(minReplicas=1, schedules=OFFICE)
    noon = sized(spec, 0, 0)
    assert (noon.replicas, noon.reason, noon.limited_by) == (5, ScaleReason.SCHEDULE, "schedules[0].minReplicas")
    assert noon.again_at == NOW + timedelta(hours=6)
    evening = sized(spec, 0, 0, now=noon.again_at)
    assert (evening.replicas, evening.limited_by) == (1, "minReplicas")
    assert evening.again_at == NOW + timedelta(hours=20)


def test_an_unreadable_queue_freezes_the_size() -> None:
    for current in (0, 7):
        decision = decide_blind(spec_of(minReplicas=1), current, ago(9000), said((400, 3)), NOW)
        assert (decision.replicas, decision.reason, decision.again_at) == (current, ScaleReason.FROZEN, None)


def test_a_fallback_waits_and_then_grows_also_from_zero_and_never_shrinks() -> None:
    spec = spec_of(fallback={"replicas": 3, "afterSeconds": 180})
    early = decide_blind(spec, 0, ago(179), History(), NOW)
    assert (early.replicas, early.reason, early.again_at) == (0, ScaleReason.FROZEN, NOW + timedelta(seconds=1))
    late = decide_blind(spec, 0, ago(180), History(), NOW)
    assert (late.replicas, late.reason, late.limited_by) == (3, ScaleReason.FALLBACK, "fallback.replicas")
    assert decide_blind(spec, 8, ago(180), History(), NOW).replicas == 8
    assert decide_blind(spec, 0, NOW + timedelta(hours=1), History(), NOW).replicas == 0


def test_after_an_outage_the_window_still_holds() -> None:
    blind = decide_blind(spec_of(), 8, ago(900), said((900, 8)), NOW)
    back = sized(spec_of(), 8, 0, blind.history, NOW + timedelta(seconds=1))
    assert (back.replicas, back.reason) == (8, ScaleReason.DOWN_STABILIZED)


def test_a_clock_that_was_set_back_frees_the_size_after_one_window() -> None:
    future = said((-7200, 40), (-7100, 3))
    first = sized(spec_of(), 20, 0, future)
    assert first.replicas == 20
    assert sized(spec_of(), 20, 0, first.history, NOW + timedelta(seconds=300)).replicas == 0


def test_it_explains_itself_rule_by_rule() -> None:
    spec = spec_of(maxReplicas=40, **behaving(scaleUp={"policies": [per_minute("Pods", 4)]}))
    decision = sized(spec, 2, 9)
    assert [(each.rule, each.replicas, each.text) for each in decision.proposals] == [
        ("demand", 9, "9 ready and 0 running want 9 slots"),
        ("policies", 6, "at most 4 runners more in 60 s"),
    ]
    assert decision.inputs == {
        "current": 2, "ready": 9, "running": 0, "oldestSeconds": None, "arrivalRate": None, "serviceSeconds": None,
        "slotsNeeded": 9.0, "floor": 0,
    }  # fmt: skip
    assert decision.at == NOW


def test_it_comes_back_when_waiting_jobs_will_want_more() -> None:
    spec = spec_of(targets={"waitSeconds": 60})
    decision = decide(spec, 1, 0, Signals(100, 0, 0.0, 0.0, 6.0), History(), NOW)
    assert decision.again_at == NOW + timedelta(seconds=1)
    later = decide(spec, 1, 10, Signals(100, 0, 1.0, 0.0, 6.0), decision.history, decision.again_at)
    assert (decision.replicas, later.replicas) == (10, 11)
    full = decide(spec.model_copy(update={"max_replicas": 10}), 1, 10, Signals(100, 0, 7.0, 0.0, 6.0), History(), NOW)
    assert (full.replicas, full.again_at) == (10, None)
