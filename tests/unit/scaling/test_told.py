"""What others who scale are told: a fresh number, or that there is none and why."""

from dataclasses import replace
from datetime import timedelta

import pytest

from paceline_operator.domain.scaling.decide import decide_blind
from paceline_operator.domain.scaling.history import History
from paceline_operator.domain.scaling.told import FRESH, WIRE, NoDemandError, tell_demand
from unit.operator.world import group
from unit.scaling.cases import NOW, sized, spec_of

EXTERNAL = group(3, autoscaling={"mode": "External", "maxReplicas": 5})
DECIDED = sized(spec_of(maxReplicas=5), current=3, ready=20)


def test_demand_is_told_as_it_was_before_any_rule() -> None:
    assert DECIDED.replicas == 5
    told = tell_demand(EXTERNAL, DECIDED, NOW, NOW)
    assert (told.namespace, told.group, told.demand, told.ready, told.running, told.at) == (
        "ci", "builds", 20, 20, 0, NOW,
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["Internal", "Recommend"])
def test_it_is_told_in_every_mode_that_looks_at_the_queue(mode: str) -> None:
    assert tell_demand(group(3, autoscaling={"mode": mode, "maxReplicas": 5}), DECIDED, NOW, NOW).demand == 20


@pytest.mark.parametrize("scaling", [None, {"mode": "Off", "maxReplicas": 5}])
def test_a_group_that_nothing_scales_has_none_and_is_told_what_to_add(scaling: object) -> None:
    with pytest.raises(NoDemandError, match=r"ci/builds has no autoscaling: add spec\.autoscaling") as caught:
        tell_demand(group(3, autoscaling=scaling), None, NOW, NOW)
    assert caught.value.missing


def test_a_group_that_was_not_looked_at_yet_is_not_called_missing() -> None:
    with pytest.raises(NoDemandError, match="not been looked at") as caught:
        tell_demand(None, None, None, NOW)
    assert not caught.value.missing


def test_a_queue_that_cannot_be_read_has_no_number() -> None:
    blind = decide_blind(spec_of(), 3, NOW, History(), NOW)
    for decision, read in ((DECIDED, None), (None, NOW), (blind, NOW)):
        with pytest.raises(NoDemandError, match="cannot be read") as caught:
            tell_demand(EXTERNAL, decision, read, NOW)
        assert not caught.value.missing


def test_an_old_number_is_no_number() -> None:
    assert tell_demand(EXTERNAL, DECIDED, NOW, NOW + FRESH).demand == 20
    with pytest.raises(NoDemandError, match="was last read 11 s ago"):
        tell_demand(EXTERNAL, DECIDED, NOW, NOW + FRESH + timedelta(seconds=1))


def test_a_group_that_is_paused_has_no_number() -> None:
    paused = group(3, {"paceline.dev/paused": "true"}, autoscaling={"mode": "External", "maxReplicas": 5})
    with pytest.raises(NoDemandError, match="is paused"):
        tell_demand(paused, DECIDED, NOW, NOW)


def test_a_number_from_before_the_pool_was_paused_is_no_number() -> None:
    before = replace(DECIDED, at=NOW - timedelta(seconds=1))
    with pytest.raises(NoDemandError, match="its pool is paused"):
        tell_demand(EXTERNAL, before, NOW, NOW)


def test_what_is_told_can_be_read_again() -> None:
    told = tell_demand(EXTERNAL, DECIDED, NOW, NOW)
    assert WIRE.validate_json(WIRE.dump_json(told)) == told
