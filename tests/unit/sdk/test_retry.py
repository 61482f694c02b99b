"""Retry policies: tries and error in, a decision out, and no number of tries is too many."""

import math
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import InvalidInputError
from paceline.retry import LONGEST, Custom, Exponential, Fixed, GiveUp, Linear, Never, Retry, RetryPolicy

SECOND = timedelta(seconds=1)
HUGE = 10**400
"""More tries than a float can hold."""
spans = st.timedeltas(min_value=timedelta(0), max_value=LONGEST)


def plain(**fields: float) -> Exponential:
    """No jitter: the wait itself."""
    return Exponential(base=SECOND, max=timedelta(seconds=100), jitter=0, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("policy", "tries", "seconds"),
    [
        (Fixed(5 * SECOND), 1, 5),
        (Fixed(5 * SECOND), HUGE, 5),
        (Linear(10 * SECOND, max=timedelta(seconds=25)), 1, 10),
        (Linear(10 * SECOND, max=timedelta(seconds=25)), 2, 20),
        (Linear(10 * SECOND, max=timedelta(seconds=25)), 3, 25),
        (Linear(10 * SECOND, max=LONGEST), HUGE, LONGEST.total_seconds()),
        (Linear(timedelta(0)), HUGE, 0),
        (plain(), 1, 1),
        (plain(), 2, 2),
        (plain(), 5, 16),
        (plain(), 8, 100),
        (plain(factor=3), 3, 9),
        (plain(factor=1), HUGE, 1),
        (plain(), 1024, 100),
        (plain(), 1025, 100),
        (plain(factor=2**64), HUGE, 100),
        (Exponential(base=timedelta(0), jitter=0), 5000, 0),
    ],
)
def test_the_wait_after_so_many_tries(policy: RetryPolicy, tries: int, seconds: float) -> None:
    assert policy.decide(tries, RuntimeError()) == Retry(timedelta(seconds=seconds))


@pytest.mark.parametrize(("chance", "seconds"), [(0.0, 8.0), (0.5, 7.0), (1.0, 6.0)])
def test_jitter_takes_off_at_most_its_share(chance: float, seconds: float) -> None:
    policy = Exponential(base=SECOND, jitter=0.25, random=lambda: chance)
    assert policy.decide(4, RuntimeError()) == Retry(timedelta(seconds=seconds))


@given(
    base=spans,
    most=spans,
    factor=st.floats(1, 1e300),
    jitter=st.floats(0, 1),
    chance=st.floats(0, 1, exclude_max=True),
    tries=st.integers(1, 2**70),
)
def test_an_exponential_wait_stays_within_its_bounds(
    base: timedelta, most: timedelta, factor: float, jitter: float, chance: float, tries: int
) -> None:
    base, most = min(base, most), max(base, most)
    policy = Exponential(base=base, max=most, factor=factor, jitter=jitter, random=lambda: chance)
    decision = policy.decide(tries, RuntimeError())
    assert isinstance(decision, Retry)
    assert base * (1 - jitter) - timedelta(microseconds=1) <= decision.after <= most


@given(step=spans, most=spans, tries=st.integers(1, 2**70))
def test_a_linear_wait_never_shrinks_and_never_passes_its_end(step: timedelta, most: timedelta, tries: int) -> None:
    step, most = min(step, most), max(step, most)
    policy = Linear(step, max=most)
    now, later = policy.decide(tries, RuntimeError()), policy.decide(tries + 1, RuntimeError())
    assert isinstance(now, Retry)
    assert isinstance(later, Retry)
    assert step <= now.after <= later.after <= most


def test_never_gives_up_at_once() -> None:
    assert Never().decide(1, RuntimeError()) == GiveUp("this kind is never retried")


@pytest.mark.parametrize(
    "policy",
    [
        Fixed(SECOND, stop_on=(LookupError,)),
        Linear(SECOND, stop_on=(LookupError,)),
        Exponential(stop_on=(LookupError,)),
        Custom(lambda *_: Retry(SECOND), stop_on=(LookupError,)),
    ],
)
def test_errors_that_are_named_are_never_retried(policy: RetryPolicy) -> None:
    assert policy.decide(1, KeyError("x")) == GiveUp("KeyError is never retried")
    assert isinstance(policy.decide(1, ValueError("x")), Retry)


def test_a_function_of_the_users_own_sees_tries_and_error() -> None:
    def by_hand(tries: int, error: BaseException) -> Retry | GiveUp:
        return GiveUp(str(error)) if tries > 2 else Retry(tries * SECOND)

    policy = Custom(by_hand)
    assert policy.decide(2, RuntimeError("no")) == Retry(2 * SECOND)
    assert policy.decide(3, RuntimeError("no")) == GiveUp("no")


def test_a_function_that_fails_becomes_the_reason_of_a_dead_letter() -> None:
    decision = Custom(lambda *_: Retry(-SECOND)).decide(1, RuntimeError())
    assert isinstance(decision, GiveUp)
    assert "the retry policy failed: InvalidInputError: after -1 day" in decision.reason
    wrong = Custom(lambda *_: 5).decide(1, RuntimeError())  # type: ignore[arg-type]
    assert wrong == GiveUp("the retry policy returned 5 (it must return Retry(...) or GiveUp(...))")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Fixed(-SECOND), "after -1 day, 23:59:59 is negative"),
        (lambda: Fixed(LONGEST + SECOND), "after 365 days, 0:00:01 is too long"),
        (lambda: Linear(-SECOND), "step -1 day"),
        (lambda: Linear(SECOND, max=-SECOND), "max -1 day"),
        (lambda: Linear(SECOND, max=timedelta(0)), "step 0:00:01 is longer than max 0:00:00"),
        (lambda: Exponential(base=-SECOND), "base -1 day"),
        (lambda: Exponential(max=timedelta.max), "max 999999999 days"),
        (lambda: Exponential(base=2 * SECOND, max=SECOND), "base 0:00:02 is longer than max"),
        (lambda: Exponential(factor=0.5), "factor 0.5 is out of range"),
        (lambda: Exponential(factor=math.nan), "factor nan is out of range"),
        (lambda: Exponential(factor=math.inf), "factor inf is out of range"),
        (lambda: Exponential(jitter=-0.1), "jitter -0.1 is out of range"),
        (lambda: Exponential(jitter=1.1), "jitter 1.1 is out of range"),
        (lambda: Exponential(jitter=math.nan), "jitter nan is out of range"),
        (lambda: Never(stop_on=ValueError), "write it like stop_on=(ValueError,)"),  # type: ignore[arg-type]
        (lambda: Never(stop_on=("ValueError",)), "is no tuple of exception classes"),  # type: ignore[arg-type]
        (lambda: Never().decide(0, ValueError()), "tries 0 is out of range"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(make: Callable[[], object], words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make()
    assert words in str(caught.value)
