"""Promises 1 and 2: one live claim, fences that grow, and late writes that change nothing."""

from collections.abc import Iterator

from history.checks.violation import Violation
from history.events import History, JobChanged, JobEnded, JobRow


def unbroken(history: History) -> Iterator[Violation]:
    """Each change begins where the one before it ended: nothing is missing in the record, and its order is right."""
    last: dict[int, JobRow | None] = {}
    for event in history.changes():
        if event.old != last.get(event.job):
            yield Violation("unbroken", f"the record of job {event.job} has a gap", (event.job,), (event,))
        last[event.job] = event.new


def one_claim(history: History) -> Iterator[Violation]:
    """A job is claimed only when it is ready, and a claim belongs to somebody."""
    for event in history.changes():
        if not event.claim or event.new is None:
            continue
        if event.old is None or event.old.state != "r":
            yield Violation("one claim", f"job {event.job} was claimed while it was not ready", (event.job,), (event,))
        if event.new.incarnation is None:
            yield Violation("one claim", f"job {event.job} was claimed by nobody", (event.job,), (event,))


def fences_grow(history: History) -> Iterator[Violation]:
    """Of each job from claim to claim; and no two runners ever have the same one."""
    highest: dict[int, int] = {}
    owners: dict[int, int | None] = {}
    for event in history.changes():
        if not event.claim or event.new is None:
            continue
        fence = event.new.fence
        if fence <= highest.get(event.job, 0):
            text = f"job {event.job} was claimed with fence {fence} after {highest[event.job]}"
            yield Violation("fences", text, (event.job,), (event,))
        highest[event.job] = fence
        if owners.setdefault(fence, event.new.incarnation) != event.new.incarnation:
            text = f"fence {fence} belongs to incarnations {owners[fence]} and {event.new.incarnation}"
            yield Violation("fences", text, (event.job,), (event,))


def late_writes(history: History) -> Iterator[Violation]:
    """A write with an old fence is refused; and what ended a claim was written by its owner, with its fence."""
    for late in history.late:
        if not late.refused:
            yield Violation("late writes", f"a late {late.call} of job {late.job} was taken", (late.job,))
    held: dict[int, JobRow] = {}
    for event in history.events:
        if isinstance(event, JobChanged):
            if event.old is not None and event.new is None:
                held[event.job] = event.old
        elif isinstance(event, JobEnded) and event.outcome == "d" and (row := held.get(event.job)):
            if row.state != "x":
                text = f"job {event.job} was acknowledged while nobody held it"
                yield Violation("late writes", text, (event.job,), (event,))
            elif (row.incarnation, row.fence) != (event.incarnation, event.fence):
                text = f"job {event.job} was acknowledged by {event.incarnation} while {row.incarnation} held it"
                yield Violation("late writes", text, (event.job,), (event,))
