"""Time in the hands of a test: delays, leases and expiries pass when the test says so, not by sleeping."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from paceline.errors import InvalidInputError

Clock: TypeAlias = Callable[[], datetime]


def real_clock() -> datetime:
    """The moment that it is."""
    return datetime.now(UTC)


def later(now: datetime, span: timedelta) -> datetime:
    """The end of a span; Python's last moment where PostgreSQL's calendar goes further."""
    try:
        return now + span
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: datetime | None = None) -> None:
        """Begin at a moment of your own, or now."""
        if start is not None and start.tzinfo is None:
            raise InvalidInputError(f"start {start} has no time zone (use an aware datetime)")
        self._now = start or real_clock()

    def __call__(self) -> datetime:
        """The moment that it shows."""
        return self._now

    def advance(self, by: timedelta) -> None:
        """Let time pass."""
        if by < timedelta(0):
            raise InvalidInputError(f"the clock cannot go back by {-by} (time in the database does not either)")
        self._now = later(self._now, by)
