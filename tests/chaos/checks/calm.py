"""Nothing interrupts a job but faults that may: no scale-down, no roll, no operator that dies, no API server."""

from collections.abc import Iterator

from chaos.faults import ABOUT
from chaos.record import Injected, Record
from history.checks.violation import Violation
from history.events import JobChanged

AFTER = 40.0
"""Seconds after a fault in which its runners' leases end: 30 s where they come by a gateway."""


def interrupted_by_a_fault(record: Record) -> Iterator[Violation]:
    """Each claim that ends without its handler's word has a fault to blame."""
    windows = [_window(each) for each in record.injected if ABOUT[each.fault].interrupts and not each.skipped]
    for event in record.history.changes():
        if _interrupts(event) and not any(begin <= event.committed <= end for begin, end in windows):
            lost = event.new is not None and event.old is not None and event.new.losses > event.old.losses
            text = f"job {event.job} was {'lost' if lost else 'handed back'} while nothing had happened that may do so"
            yield Violation("calm", text, (event.job,), (event,))


def _interrupts(event: JobChanged) -> bool:
    """From running back to ready: a failed try goes to scheduled, and an end has no new row."""
    return event.old is not None and event.new is not None and (event.old.state, event.new.state) == ("x", "r")


def _window(one: Injected) -> tuple[float, float]:
    return one.began - 1.0, max(one.recovered or one.over, one.over) + AFTER
