"""What was recommended and done in the last hour; stabilization windows and policies look back on it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from pydantic import JsonValue

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
LONGEST_WINDOW: Final = timedelta(seconds=3600)
LONGEST_PERIOD: Final = timedelta(seconds=1800)
MOST: Final = 256
"""Entries of each kind. Beyond it neighbours are put together, so that a limit holds longer and never shorter."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A size that was recommended, again and again for as long as nothing changed."""

    since: datetime
    until: datetime
    replicas: int


@dataclass(frozen=True, slots=True)
class Change:
    """Runners that were added (or removed: negative)."""

    at: datetime
    change: int


@dataclass(frozen=True, slots=True)
class History:
    """Recommendations and changes, oldest first. Only those that can still make a difference are kept."""

    recommendations: tuple[Recommendation, ...] = ()
    changes: tuple[Change, ...] = ()

    def as_of(self, now: datetime) -> "History":
        """Without what is too old, and without the future: a clock that was set back must not freeze the size."""
        oldest_until, oldest_at = now - LONGEST_WINDOW, now - LONGEST_PERIOD
        kept, changes = self.recommendations, self.changes
        if kept and (kept[0].until <= oldest_until or kept[-1].until > now):
            kept = tuple(
                each if each.until <= now else replace(each, until=now)
                for each in kept
                if each.until > oldest_until and each.since <= now
            )
        if changes and (changes[0].at <= oldest_at or changes[-1].at > now):
            changes = tuple(each for each in changes if oldest_at < each.at <= now)
        return self if kept is self.recommendations and changes is self.changes else History(kept, changes)

    def recommended(self, replicas: int, now: datetime) -> "History":
        """With one more recommendation."""
        past = self.recommendations
        if past and past[-1].replicas == replicas:
            runs = (*past[:-1], replace(past[-1], until=now))
        else:
            runs = _that_matter((*past, Recommendation(now, now, replicas)))
        return History(runs, self.changes)

    def changed(self, change: int, now: datetime) -> "History":
        """With one more change of the size."""
        if not change:
            return self
        made = (*self.changes, Change(now, change))
        while len(made) > MOST:
            made = (Change(made[1].at, made[0].change + made[1].change), *made[2:])
        return History(self.recommendations, made)

    def change_after(self, moment: datetime) -> int:
        """By how many runners the size has grown since a moment."""
        return sum(each.change for each in self.changes if each.at > moment)

    def as_json(self) -> dict[str, JsonValue]:
        """For `from_json`; moments are microseconds since 1970."""
        return {
            "recommendations": [[_number(r.since), _number(r.until), r.replicas] for r in self.recommendations],
            "changes": [[_number(each.at), each.change] for each in self.changes],
        }

    @staticmethod
    def from_json(value: object) -> "History":
        """What `as_json` has written; anything else is an empty history, from which scaling starts with care."""
        try:
            return _read(value)
        except (ValueError, TypeError, KeyError, OverflowError):
            return History()


def _that_matter(runs: tuple[Recommendation, ...]) -> tuple[Recommendation, ...]:
    """Those that are the highest or the lowest of all from then on: no window ever picks another one."""
    kept: list[Recommendation] = []
    highest = lowest = runs[-1].replicas
    for run in reversed(runs):
        if not kept or run.replicas > highest or run.replicas < lowest:
            kept.append(run)
            highest, lowest = max(highest, run.replicas), min(lowest, run.replicas)
    kept.reverse()
    return tuple(kept) if len(kept) <= MOST else _merged(kept)


def _merged(runs: list[Recommendation]) -> tuple[Recommendation, ...]:
    """Half of them: of two that follow each other on the same side, the more cautious one, for as long as both."""
    newest = runs[-1]
    above = [run for run in runs[:-1] if run.replicas > newest.replicas]
    below = [run for run in runs[:-1] if run.replicas < newest.replicas]
    halves = (replace(pair[0], until=pair[-1].until) for side in (above, below) for pair in _pairs(side))
    return (*sorted(halves, key=lambda run: run.until), newest)


def _pairs(runs: list[Recommendation]) -> Iterator[list[Recommendation]]:
    return (runs[start : start + 2] for start in range(0, len(runs), 2))


def _number(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def _moment(number: int) -> datetime:
    return EPOCH + number * MICROSECOND


def _read(value: object) -> History:
    if not isinstance(value, dict):
        raise TypeError
    runs = tuple(
        Recommendation(_moment(since), _moment(until), replicas)
        for since, until, replicas in _rows(value["recommendations"], 3)
    )
    changes = tuple(Change(_moment(at), change) for at, change in _rows(value["changes"], 2))
    if any(run.since > run.until or run.replicas < 0 for run in runs):
        raise ValueError
    if not (_in_order(run.until for run in runs) and _in_order(each.at for each in changes)):
        raise ValueError
    return History(runs, changes)


def _rows(value: object, width: int) -> Iterator[list[int]]:
    if not isinstance(value, list) or len(value) > MOST:
        raise TypeError
    for row in value:
        if not isinstance(row, list) or len(row) != width or any(type(each) is not int for each in row):
            raise TypeError
        yield row


def _in_order(moments: Iterable[datetime]) -> bool:
    listed = list(moments)
    return listed == sorted(listed)
