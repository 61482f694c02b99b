"""What a decision about the size makes of a plan."""

from dataclasses import replace
from datetime import timedelta

from paceline_operator.domain.actions import CreateRunners
from paceline_operator.domain.scaling.decide import Decision, ScaleReason
from paceline_operator.domain.scaling.history import History
from paceline_operator.domain.seen import GroupSeen
from unit.operator.test_plan import decide, seen
from unit.operator.world import pod, registered, runner

SCALED = {"maxReplicas": 9}


def decided(replicas: int, reason: ScaleReason = ScaleReason.WITHIN_RANGE, *, again: float | None = None) -> Decision:
    now = seen(0).now
    again_at = None if again is None else now + timedelta(seconds=again)
    return Decision(replicas, reason, None, {}, (), History(), again_at, now)


def with_decision(found: GroupSeen, decision: Decision, *, away: bool = False) -> GroupSeen:
    return replace(found, decided=decision, registrations=None if away else found.registrations)


def test_runners_come_and_go_as_the_queue_wants() -> None:
    found = seen(7, (runner("a"),), (pod("a"),), (registered("a"),), autoscaling=SCALED)
    assert CreateRunners(2, "rev") in decide(with_decision(found, decided(3))).actions
    assert decide(with_decision(found, decided(3))).size == 3


def test_a_fallback_starts_runners_while_the_database_is_away() -> None:
    found = with_decision(seen(7, autoscaling=SCALED), decided(2, ScaleReason.FALLBACK), away=True)
    assert decide(found).actions == (CreateRunners(2, "rev"),)
    broken = replace(found, template_problem="there is no runner")
    assert decide(broken).actions == ()


def test_without_a_fallback_nothing_is_started_blindly() -> None:
    found = with_decision(seen(7, autoscaling=SCALED), decided(2, ScaleReason.FROZEN), away=True)
    assert decide(found).actions == ()


def test_nobody_goes_while_the_database_is_away() -> None:
    rows, pods = (registered("a"), registered("b")), (pod("a"), pod("b"))
    two = seen(7, (runner("a"), runner("b")), pods, rows, autoscaling=SCALED)
    assert decide(with_decision(two, decided(0, ScaleReason.FALLBACK), away=True)).actions == ()


def test_who_only_recommends_starts_nothing_blindly() -> None:
    found = seen(7, autoscaling={**SCALED, "mode": "Recommend"})
    assert decide(with_decision(found, decided(2, ScaleReason.FALLBACK), away=True)).actions == ()


def test_it_looks_again_when_time_alone_changes_the_size() -> None:
    found = seen(7, autoscaling=SCALED)
    assert decide(with_decision(found, decided(0, again=7))).again_at == found.now + timedelta(seconds=7)
    away = with_decision(found, decided(0, ScaleReason.FROZEN, again=9), away=True)
    assert decide(away).again_at == found.now + timedelta(seconds=9)
