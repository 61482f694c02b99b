"""Promise 4: what a lost runner held comes back, with one loss and no try charged; and soon."""

from collections import defaultdict
from collections.abc import Iterator

from history.checks.violation import Violation
from history.events import History, JobChanged, RunnerChanged

SOON = 20.0
"""Seconds from the end of a lease to the commit that gives its jobs back: a tick takes 0.25 s here, a machine more."""


def nothing_held_by_the_gone(history: History) -> Iterator[Violation]:
    """With the commit that ends an incarnation all its jobs are free, and it never gets another."""
    held: dict[int, set[int]] = defaultdict(set)
    ended: dict[int, RunnerChanged] = {}
    fresh: set[int] = set()
    commit = 0

    def left() -> Iterator[Violation]:
        for incarnation in fresh:
            if incarnation in ended and held[incarnation]:
                text = f"{incarnation} is gone and holds {len(held[incarnation])} jobs"
                yield Violation("losses", text, tuple(sorted(held[incarnation])), (ended[incarnation],))
        fresh.clear()

    for event in history.events:
        if event.order[0] != commit:
            yield from left()
            commit = event.order[0]
        if isinstance(event, RunnerChanged) and event.new == "z":
            ended[event.incarnation] = event
            fresh.add(event.incarnation)
        elif isinstance(event, JobChanged):
            if event.old and event.old.incarnation is not None:
                held[event.old.incarnation].discard(event.job)
            if event.new and event.new.incarnation is not None:
                held[event.new.incarnation].add(event.job)
                fresh.add(event.new.incarnation)
    yield from left()


def fair_charges(history: History) -> Iterator[Violation]:
    """A claim that ends costs nothing (handed back), a try (failed), or a loss if its runner ended with that commit."""
    ends = {
        (event.order[0], event.incarnation)
        for event in history.events
        if isinstance(event, RunnerChanged) and event.new == "z"
    }
    for event in history.changes():
        old, new = event.old, event.new
        if old is None or new is None:
            continue
        charge = (new.tries - old.tries, new.losses - old.losses)
        lost = (event.order[0], old.incarnation) in ends
        if old.state == "x" and new.state == "r":
            fine = (charge == (0, 1) and lost) or charge == (0, 0)
        elif old.state == "x" and new.state == "s":
            fine = charge == (1, 0)
        else:
            fine = charge == (0, 0)
        if not fine:
            text = f"job {event.job} was charged {charge[0]} tries and {charge[1]} losses"
            yield Violation("charges", text, (event.job,), (event,))


def soon_back(history: History) -> Iterator[Violation]:
    """A lease that has ended is noticed by the tick; the time in which the server was down does not count."""
    for event in history.events:
        if isinstance(event, RunnerChanged) and event.new == "z" and event.cause == "LeaseExpired":
            down = sum(
                max(0.0, min(end, event.committed) - max(begin, event.lease_until)) for begin, end in history.outages
            )
            late = event.committed - event.lease_until - down
            if late > SOON:
                text = f"the lease of {event.incarnation} had ended for {late:.1f} s when it was noticed"
                yield Violation("soon back", text, (), (event,))
            if late < 0:
                text = f"the lease of {event.incarnation} was ended {-late:.3f} s too early"
                yield Violation("soon back", text, (), (event,))
