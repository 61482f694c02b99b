"""PgQueuer as its own benchmark runs it: one manager on each connection, asyncpg, uvloop, an async no-op."""

import asyncio
import os
import sys
from datetime import timedelta

import asyncpg
import uvloop
from pgqueuer import AsyncpgDriver, Job, PgQueuer  # type: ignore[import-not-found] # only where benches run

from paceline_bench.workers import URL


async def noop(_: Job) -> None:
    """Do nothing."""


async def work(url: str, batch: int) -> None:
    """One manager; nothing limits how many of its jobs run at once."""
    manager = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))
    manager.entrypoint("noop", accepts_context=False)(noop)
    # without its statistics, which would be folded in the middle of a long repetition
    await manager.run(batch_size=batch, log_aggregation_interval=timedelta(0))


async def main(batch: int, connections: int) -> None:
    """All managers in one process."""
    await asyncio.gather(*(work(os.environ[URL], batch) for _ in range(connections)))


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:3])))
