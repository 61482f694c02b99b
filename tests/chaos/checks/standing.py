"""How it went for the parts: every fault is got over, programs do not crash, statuses are true."""

from collections.abc import Iterator

from chaos.record import Record
from chaos.seats import FINE
from history.checks.violation import Violation


def got_over(record: Record) -> Iterator[Violation]:
    """Each fault did what it is for, the product said what it must, and all came back in time."""
    for each in record.injected:
        if each.skipped:
            continue
        if each.faulty:
            yield Violation("faults", f"{each.fault} in round {each.round}: {each.faulty}")
        if each.recovered is None:
            text = f"after {each.fault} in round {each.round} not all worked again in time: {each.missing}"
            yield Violation("faults", text)


def no_crash(record: Record) -> Iterator[Violation]:
    """A program leaves, lets go of what it has lost, or was killed by us."""
    for end in record.ends:
        if end.code not in FINE and not end.killed:
            yield Violation("exits", f"{end.name} ended with {end.code} by itself: {end.words}")


def epochs_grow(record: Record) -> Iterator[Violation]:
    """What the statuses say of the leader never goes back, whichever operator writes them."""
    highest: dict[str, int] = {}
    for seen in record.seen:
        if seen.epoch is None:
            continue
        if seen.epoch < highest.get(seen.group, 0):
            text = f"the status of {seen.group} told epoch {seen.epoch} after {highest[seen.group]}"
            yield Violation("leader", text)
        highest[seen.group] = max(seen.epoch, highest.get(seen.group, 0))


def true_in_the_end(record: Record) -> Iterator[Violation]:
    """When no job is left the statuses say what there is, and nothing hangs between being and not being."""
    for each in record.standing:
        for name, told in each.told.items():
            if told != each.there[name]:
                text = f'the status of {each.group} says {name} "{told}", and it is "{each.there[name]}"'
                yield Violation("status", text)
    for text in record.stuck:
        yield Violation("stuck", text)
