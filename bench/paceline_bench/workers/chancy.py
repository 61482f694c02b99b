"""Chancy: one worker, whose jobs run in its own loop."""

import asyncio
import os
import sys

import uvloop
from chancy import Worker  # type: ignore[import-not-found] # only where benches run

from paceline_bench.systems.chancy import application, declared
from paceline_bench.workers import URL, told

FLUSH = 0.05
"""Seconds between two writes of what is done; its default of 1 s is what a small batch would be waiting for."""


async def main(concurrency: int, connections: int, listen: int = 0) -> None:
    """It claims as many as it has room for, by one statement."""
    async with application(os.environ[URL], connections, notifications=bool(listen)) as chancy:
        await chancy.declare(declared(concurrency), upsert=True)
        worker = Worker(chancy)
        worker.send_outgoing_interval = FLUSH
        async with worker:
            await asyncio.gather(told.tell(), worker.wait_for_shutdown())


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:4])))
