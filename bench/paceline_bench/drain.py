"""How fast a queue is emptied, seen from outside, by one rule for everybody.

A job is finished when its row has left the live table for all to see, or says so where finished rows stay. A
connection of ours looks every few milliseconds: when the first job has gone it counts what is left and starts the
clock, and it stops the clock at the first look that finds none. Times are the database's, taken with the snapshot. So
neither the start of a process nor its way of reporting counts, only committed work. A look is one index probe and
costs everybody the same.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from paceline_bench.errors import NotMeasuredError
from paceline_bench.process import Process
from paceline_bench.systems import System

if TYPE_CHECKING:
    import asyncpg

INTERVAL: Final = 0.01


@dataclass(frozen=True, slots=True)
class Drained:
    """So many jobs in so many seconds."""

    jobs: int
    seconds: float
    looks: int
    """How often we looked; each was a transaction of ours."""

    @property
    def rate(self) -> float:
        """Jobs per second."""
        return self.jobs / self.seconds


async def watch(
    connection: "asyncpg.Connection[asyncpg.Record]", system: System, processes: Sequence[Process], *, within: float
) -> Drained:
    """Wait until a full queue is empty."""
    table, pending, order = system.table, system.pending, system.order
    # the oldest goes first in every queue here; from the other end, a job is found at once while there is one
    oldest = await connection.fetchval(f"SELECT {order} FROM {table} ORDER BY {order} LIMIT 1")
    first = await connection.prepare(f"SELECT NOT EXISTS (SELECT FROM {table} WHERE {order} = $1 AND {pending})")
    newest = await connection.prepare(
        f"SELECT statement_timestamp(),"
        f" EXISTS (SELECT FROM (SELECT FROM {table} WHERE {pending} ORDER BY {order} DESC LIMIT 1) x)"
    )
    looks = 2
    deadline = time.monotonic() + within
    while not await first.fetchval(oldest):
        looks += 1
        await _pause(processes, deadline)
    row = await connection.fetchrow(f"SELECT statement_timestamp(), count(*) FROM {table} WHERE {pending}")
    assert row is not None
    began, left = row
    if left == 0:
        raise NotMeasuredError("all jobs were done before the first look: there are too few for this subject")
    while True:
        looks += 1
        row = await newest.fetchrow()
        assert row is not None
        if not row[1]:
            return Drained(left, (row[0] - began).total_seconds(), looks)
        await _pause(processes, deadline)


async def _pause(processes: Sequence[Process], deadline: float) -> None:
    for each in processes:
        each.require()
    if time.monotonic() > deadline:
        raise NotMeasuredError("it did not finish its jobs in time")
    await asyncio.sleep(INTERVAL)
