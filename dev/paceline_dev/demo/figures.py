"""What the demo has measured, and whether it is as promised. Pure: numbers in, a table out."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

NAME_WIDTH = 52
VALUE_WIDTH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What became of all jobs."""

    enqueued: int
    done: int
    twice: int
    """Done more than once."""
    interrupted: int
    """Attempts that were cut off, but for those of the runner that was killed."""
    killed: int
    """Attempts that ended with that runner."""
    against_taint: int
    """Jobs that a tainted runner, or one that may no longer lead, has claimed all the same."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the closing table."""

    name: str
    value: str
    wanted: str = ""
    ok: bool = True


def count_twice(ends: Iterable[int], acked: Iterable[int], cut_off: Collection[int]) -> int:
    """Jobs that are done more than once, by the handlers' own lines or by the queue's history.

    A handler may have come to its end in the moment before its runner was killed, with nobody to tell: a job that was
    `cut_off` is run again by design, and counts only if the queue took its end twice.
    """
    ran = {job for job, times in Counter(ends).items() if times > 1 and job not in cut_off}
    return len(ran | {job for job, times in Counter(acked).items() if times > 1})


def figures(account: Account, times: Sequence[tuple[str, float]]) -> list[Figure]:
    """The closing table: counts that must be right, then times as they were."""
    missing = account.enqueued - account.done
    return [
        Figure("jobs enqueued", f"{account.enqueued:,}", "> 0", account.enqueued > 0),
        Figure("jobs done", f"{account.done:,}", "all", missing == 0),
        _none("jobs lost", missing),
        _none("jobs done twice", account.twice),
        _none("jobs interrupted by us", account.interrupted),
        Figure("jobs cut off by kill -9, and done elsewhere", f"{account.killed:,}", "> 0", account.killed > 0),
        _none("jobs claimed against a taint", account.against_taint),
        *(Figure(name, f"{seconds:.2f} s") for name, seconds in times),
    ]


def table(rows: Sequence[Figure]) -> list[str]:
    """The same for people; what is wrong is marked."""
    return [
        f"{each.name:<{NAME_WIDTH}}{each.value:>{VALUE_WIDTH}}{'' if each.ok else f'   WRONG: wanted {each.wanted}'}"
        for each in rows
    ]


def wrong(rows: Iterable[Figure]) -> list[str]:
    """What is not as promised, each in a few words."""
    return [f"{each.name}: {each.value} (wanted {each.wanted})" for each in rows if not each.ok]


def _none(name: str, count: int) -> Figure:
    return Figure(name, f"{count:,}", "0", count == 0)
