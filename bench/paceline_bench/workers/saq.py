"""SAQ: one worker with so many tasks."""

import asyncio
import logging
import os
import sys

import uvloop
from saq import Worker  # type: ignore[import-not-found] # only where benches run

from paceline_bench.systems.saq import connected_queue
from paceline_bench.workers import URL, told


async def noop(_: object, **__: object) -> None:
    """Be counted."""
    await told.noop()


async def stamp(_: object, **__: object) -> None:
    """Say when."""
    await told.stamp()


async def main(concurrency: int, connections: int) -> None:
    """One connection more than that, to listen with."""
    logging.getLogger("saq").setLevel(logging.WARNING)
    async with connected_queue(os.environ[URL], connections + 1) as queue:
        worker = Worker(queue, functions=[("noop", noop), ("stamp", stamp)], concurrency=concurrency)
        await asyncio.gather(told.tell(), worker.start())


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:3])))
