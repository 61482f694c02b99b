"""Pods that the API server refuses."""

from datetime import timedelta

from paceline_operator.domain.reasons import Reason
from paceline_operator.handlers.refusals import Refusals
from unit.operator.world import START

NO = (Reason.QUOTA, "exceeded quota")


def test_after_a_refusal_it_waits_longer_and_longer() -> None:
    refusals, now = Refusals(), START
    assert not refusals.holds("1", now)
    for seconds in (8, 16, 32, 64, 128, 256, 300, 300):
        refusals.note(NO, "1", now, tried=True)
        assert refusals.until == now + timedelta(seconds=seconds)
        assert refusals.holds("1", now + timedelta(seconds=seconds - 1))
        assert refusals.why == NO
        now += timedelta(seconds=seconds)
        assert not refusals.holds("1", now)


def test_a_changed_spec_is_tried_at_once() -> None:
    refusals = Refusals()
    refusals.note(NO, "1", START, tried=True)
    refusals.note(NO, "1", START, tried=True)
    assert not refusals.holds("2", START)
    refusals.note(NO, "2", START, tried=True)
    assert refusals.until == START + timedelta(seconds=8)


def test_what_works_ends_it_and_a_turn_that_tried_nothing_does_not() -> None:
    refusals = Refusals()
    refusals.note(NO, "1", START, tried=True)
    refusals.note(None, "1", START, tried=False)
    assert refusals.holds("1", START)
    refusals.note(None, "1", START, tried=True)
    assert not refusals.holds("1", START)
    assert refusals.until is None
