"""Nothing interrupts a job but faults that may: no scale-down, no roll, no operator that dies, no API server."""

from collections.abc import Iterator
from dataclasses import dataclass

from chaos.faults import ABOUT
from chaos.record import Injected, Record
from history.checks.violation import Violation
from history.events import History, JobChanged, RunnerChanged

AFTER = 40.0
"""Seconds after a fault in which its runners' leases end: 30 s where they come by a gateway."""


@dataclass(frozen=True, slots=True)
class Excuse:
    """When a fault may interrupt, and which incarnations' jobs; None is everybody's."""

    begin: float
    end: float
    whose: frozenset[int] | None

    def covers(self, event: JobChanged) -> bool:
        whose = event.old.incarnation if event.old else None
        return self.begin <= event.committed <= self.end and (self.whose is None or whose in self.whose)


def interrupted_by_a_fault(record: Record) -> Iterator[Violation]:
    """Each claim that ends without its handler's word has a fault to blame that hit its runner."""
    excuses = [
        _excuse(each, record.history)
        for each in record.injected
        if ABOUT[each.fault].interrupts and not each.skipped
    ]  # fmt: skip
    for event in record.history.changes():
        if _interrupts(event) and not any(each.covers(event) for each in excuses):
            lost = event.new is not None and event.old is not None and event.new.losses > event.old.losses
            text = f"job {event.job} was {'lost' if lost else 'handed back'} while nothing had happened that may do so"
            yield Violation("calm", text, (event.job,), (event,))


def _interrupts(event: JobChanged) -> bool:
    """From running back to ready: a failed try goes to scheduled, and an end has no new row."""
    return event.old is not None and event.new is not None and (event.old.state, event.new.state) == ("x", "r")


def _excuse(one: Injected, history: History) -> Excuse:
    """Until what it did can be over. Where it knows whom it hit it speaks for nobody else."""
    end = max(one.recovered or one.over, one.over) + AFTER
    return Excuse(one.began - 1.0, end, frozenset(_hit(one, history)) if ABOUT[one.fault].aimed else None)


def _hit(one: Injected, history: History) -> Iterator[int]:
    """All incarnations of the pods and diallers that it names, and whoever claimed a job that kills."""
    names = set(one.hit)
    for event in history.events:
        if isinstance(event, RunnerChanged):
            if event.hostname in names or history.runners.get(event.runner) in names:
                yield event.incarnation
        elif isinstance(event, JobChanged) and event.claim and event.job in one.deadly:
            assert event.new is not None
            if event.new.incarnation is not None:
                yield event.new.incarnation
