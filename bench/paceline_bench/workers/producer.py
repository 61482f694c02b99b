"""Enqueues so many jobs, a batch at a time, and says how many that were in a second."""

import importlib
import os
import sys
import time

import uvloop

from paceline_bench.systems import NOOP, System
from paceline_bench.workers import URL, told


async def main(system: System, batch: int, jobs: int) -> None:
    """The first call does not count: it opens connections and prepares statements."""
    async with system.producer(os.environ[URL], NOOP) as produce:
        await produce(batch)
        began = time.perf_counter()
        for _ in range(jobs // batch):
            await produce(batch)
        told.said("rate", jobs // batch * batch / (time.perf_counter() - began))


if __name__ == "__main__":
    found = importlib.import_module(f"paceline_bench.systems.{sys.argv[1]}").SYSTEM
    uvloop.run(main(found, *map(int, sys.argv[2:4])))
