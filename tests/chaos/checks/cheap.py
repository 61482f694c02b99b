"""Promise 10: a claim costs what it did, whatever has been in the queue meanwhile and however it went."""

from collections.abc import Iterator

from chaos.record import Record
from history.checks.violation import Violation

ROWS_PER_JOB = 8
"""Rows and index entries of the job table that each claimed job may cost: itself, a few times over."""
GROWTH = 3.0
"""After all faults a claim may touch so many times the pages that it touched before the first one: indexes are a level
deeper by then. One that looks at every row which has gone meanwhile touches ten times as many."""


def claims_stay_cheap(record: Record) -> Iterator[Violation]:
    """Counted, not timed: rows of the job table, and pages of everything."""
    before = {each.pool: each for each in record.costs if each.when == "before"}
    after = {each.pool: each for each in record.costs if each.when == "after"}
    if not before or set(before) != set(after):
        yield Violation("cost", f"what a claim costs is known of {sorted(before)} before and {sorted(after)} after")
    for each in record.costs:
        if not each.jobs:
            yield Violation("cost", f"a claim in {each.pool} {each.when} the faults took nothing of what waited")
        elif each.rows > ROWS_PER_JOB * each.jobs:
            text = f"a claim of {each.jobs} jobs in {each.pool} {each.when} the faults touched {each.rows} rows"
            yield Violation("cost", text)
    for pool in sorted(set(before) & set(after)):
        first, last = before[pool].buffers, after[pool].buffers
        if last > GROWTH * first:
            yield Violation("cost", f"a claim in {pool} touches {last} pages, and {first} before the first fault")
