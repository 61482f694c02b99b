"""Who guesses has to wait, longer each time; the memory of it is bounded, and ends."""

import pytest

from paceline_gateway.lockout import (
    FAILURES,
    FIRST_SECONDS,
    FORGET_SECONDS,
    LONGEST_SECONDS,
    MOST_ADDRESSES,
    WINDOW_SECONDS,
    Lockout,
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lockout(clock: Clock) -> Lockout:
    return Lockout(clock)


def fail(lockout: Lockout, address: str = "10.0.0.1", times: int = FAILURES) -> None:
    for _ in range(times):
        lockout.failed(address)


def test_ten_bad_tokens_in_a_minute_are_too_many_and_nine_are_not(lockout: Lockout) -> None:
    fail(lockout, times=FAILURES - 1)
    assert lockout.wait("10.0.0.1") == 0
    fail(lockout, times=1)
    assert lockout.wait("10.0.0.1") == FIRST_SECONDS
    assert lockout.wait("10.0.0.2") == 0


def test_ten_in_a_longer_time_are_not(lockout: Lockout, clock: Clock) -> None:
    for _ in range(3 * FAILURES):
        fail(lockout, times=1)
        clock.now += WINDOW_SECONDS / (FAILURES - 2)
    assert lockout.wait("10.0.0.1") == 0


def test_the_wait_doubles_up_to_its_longest(lockout: Lockout, clock: Clock) -> None:
    waits = []
    for _ in range(9):
        fail(lockout)
        waits.append(lockout.wait("10.0.0.1"))
        clock.now += waits[-1]
        assert lockout.wait("10.0.0.1") == 0
    assert waits[:3] == [FIRST_SECONDS, 2 * FIRST_SECONDS, 4 * FIRST_SECONDS]
    assert waits[-1] == LONGEST_SECONDS


def test_one_who_never_stops_never_waits_for_less_or_breaks_it(lockout: Lockout) -> None:
    fail(lockout, times=1_100 * FAILURES)
    assert lockout.wait("10.0.0.1") == LONGEST_SECONDS


def test_who_has_behaved_for_long_begins_anew(lockout: Lockout, clock: Clock) -> None:
    fail(lockout)
    clock.now += FORGET_SECONDS + 1
    fail(lockout)
    assert lockout.wait("10.0.0.1") == FIRST_SECONDS


def test_no_more_addresses_are_remembered_than_fit(lockout: Lockout) -> None:
    for number in range(MOST_ADDRESSES + 50):
        lockout.failed(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(lockout) == MOST_ADDRESSES


def test_a_household_is_one_address(lockout: Lockout) -> None:
    fail(lockout, "2001:db8:1:2::1")
    assert lockout.wait("2001:db8:1:2:ffff::9") > 0
    assert lockout.wait("2001:db8:1:3::1") == 0
    fail(lockout, "::ffff:10.0.0.7")
    assert lockout.wait("10.0.0.7") > 0
    assert lockout.wait("::ffff:10.0.0.8") == 0
