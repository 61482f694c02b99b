"""Whose word counts for the size."""

from datetime import timedelta

import pytest

from paceline_operator.domain.names import PAUSED
from paceline_operator.domain.scaling.decide import Decision, decide
from paceline_operator.domain.scaling.history import History
from paceline_operator.domain.scaling.signals import Signals
from paceline_operator.domain.size import SizeReason, decide_size
from unit.operator.world import START, group


def scaled(mode: str = "Internal", **more: object) -> dict[str, object]:
    return {"autoscaling": {"mode": mode, "maxReplicas": 9, **more}}


def wanted(ready: int) -> Decision:
    """So many runners of one slot are wanted."""
    spec = group(1, **scaled()).spec.autoscaling
    assert spec is not None
    return decide(spec, 1, 0, Signals(ready=ready, running=0), History(), START + timedelta(seconds=1))


def test_in_mode_internal_the_queue_decides_and_else_the_spec() -> None:
    assert decide_size(group(2, **scaled()), 1, wanted(5)).replicas == 5
    for mode in ("External", "Recommend", "Off"):
        assert decide_size(group(2, **scaled(mode)), 1, wanted(5)).replicas == 2
    assert decide_size(group(2), 1, None).reason is SizeReason.REPLICAS


def test_of_a_queue_that_is_not_known_yet_the_size_stays() -> None:
    found = decide_size(group(2, **scaled()), 4, None)
    assert (found.replicas, found.reason) == (4, SizeReason.UNKNOWN)


@pytest.mark.parametrize(
    ("annotations", "drained", "size"), [({PAUSED: "true"}, False, 3), ({}, True, 0)], ids=["paused", "drained"]
)
def test_levers_come_before_the_queue(annotations: dict[str, str], drained: bool, size: int) -> None:
    assert decide_size(group(2, annotations, **scaled()), 3, wanted(5), drained=drained).replicas == size
