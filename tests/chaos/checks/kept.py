"""What producers were told is true: each job that they know of is there, and once."""

from collections import Counter
from collections.abc import Iterator

from chaos.record import Record
from history.checks.violation import Violation


def told_is_there(record: Record) -> Iterator[Violation]:
    """Whoever was told an id has that job: it was made, and by `one_end` it has come to one end."""
    made = {event.job for event in record.history.changes() if event.old is None}
    for n, job in record.history.told.items():
        if job not in made:
            yield Violation("kept", f"job {job}, number {n}, was promised to a producer and is lost", (job,))


def asked_again_made_once(record: Record) -> Iterator[Violation]:
    """However often a producer asks with one key or one entry of its ledger, one job is made."""
    made = Counter(event.new.n for event in record.history.changes() if event.old is None and event.new)
    for n in sorted(record.keyed):
        if made[n] > 1:
            jobs = tuple(event.job for event in record.history.changes() if event.new and event.new.n == n)
            yield Violation("kept", f"number {n} was made {made[n]} times", tuple(sorted(set(jobs))))
