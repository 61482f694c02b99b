"""How fast a queue is emptied, seen from outside, by one rule for everybody.

A job is finished when its row has left the live table for all to see. A connection of ours looks every few
milliseconds: when the first job has gone it counts what is left and starts the clock, and it stops the clock at the
first look that finds the table empty. Times are the database's, taken with the snapshot. So neither the start of a
process nor its way of reporting counts, only committed work. A look is one index probe and costs everybody the same.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from paceline_bench.errors import NotMeasuredError
from paceline_bench.process import Process

if TYPE_CHECKING:
    import asyncpg

INTERVAL: Final = 0.01


@dataclass(frozen=True, slots=True)
class Drained:
    """So many jobs in so many seconds."""

    jobs: int
    seconds: float

    @property
    def rate(self) -> float:
        """Jobs per second."""
        return self.jobs / self.seconds


async def watch(
    connection: "asyncpg.Connection[asyncpg.Record]", table: str, process: Process, *, within: float
) -> Drained:
    """Wait until a full table is empty."""
    # the oldest goes first in every queue here; from the other end, a job is found at once while there is one
    oldest = await connection.fetchval(f"SELECT min(id) FROM {table}")  # noqa: S608 -- our own names
    first = await connection.prepare(f"SELECT NOT EXISTS (SELECT FROM {table} WHERE id = $1)")  # noqa: S608
    newest = await connection.prepare(
        f"SELECT statement_timestamp(), (SELECT id FROM {table} ORDER BY id DESC LIMIT 1)"  # noqa: S608
    )
    deadline = time.monotonic() + within
    while not await first.fetchval(oldest):
        await _pause(process, deadline)
    row = await connection.fetchrow(f"SELECT statement_timestamp(), count(*) FROM {table}")  # noqa: S608
    assert row is not None
    began, left = row
    if left == 0:
        raise NotMeasuredError("all jobs were done before the first look: there are too few for this subject")
    while True:
        row = await newest.fetchrow()
        assert row is not None
        if row[1] is None:
            return Drained(left, (row[0] - began).total_seconds())
        await _pause(process, deadline)


async def _pause(process: Process, deadline: float) -> None:
    process.require()
    if time.monotonic() > deadline:
        raise NotMeasuredError("it did not finish its jobs in time")
    await asyncio.sleep(INTERVAL)
