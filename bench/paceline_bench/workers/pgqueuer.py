"""PgQueuer as its own benchmark runs it: one manager on each connection, asyncpg, uvloop, an async no-op."""

import asyncio
import os
import sys
from datetime import timedelta

import asyncpg
import uvloop
from pgqueuer import AsyncpgDriver, Job, PgQueuer  # type: ignore[import-not-found] # only where benches run

from paceline_bench.workers import URL, told


async def noop(_: Job) -> None:
    """Be counted."""
    told.tally.jobs += 1


async def stamp(_: Job) -> None:
    """Say when."""
    await told.stamp()


async def work(url: str, batch: int, limit: int) -> None:
    """One manager; nothing limits how many of its jobs run at once, unless a limit is asked for (0 is none)."""
    manager = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))
    manager.entrypoint("noop", accepts_context=False, concurrency_limit=limit)(noop)
    manager.entrypoint("stamp", accepts_context=False)(stamp)
    # without its statistics, which would be folded in the middle of a long repetition
    await manager.run(batch_size=batch, log_aggregation_interval=timedelta(0))


async def main(batch: int, connections: int, limit: int = 0) -> None:
    """All managers in one process."""
    await asyncio.gather(told.tell(), *(work(os.environ[URL], batch, limit) for _ in range(connections)))


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:4])))
