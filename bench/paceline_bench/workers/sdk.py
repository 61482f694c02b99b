"""The SDK's claim and ack, with every gate and history, and no runner around it."""

import asyncio
import os
import sys
from datetime import timedelta

import uvloop

from paceline.claims import Finished, Incarnation, Registration
from paceline.database import Database
from paceline_bench.systems.paceline import POOL
from paceline_bench.workers import URL, told

IDLE = 0.05
LEASE = timedelta(minutes=5)


async def work(incarnation: Incarnation, batch: int) -> None:
    """One dispatcher: acks what it has, and claims the next, in one call."""
    done: list[Finished] = []
    while True:
        step = await incarnation.step(batch, done)
        if step.refused or step.verdict != "ok":
            raise RuntimeError(f"verdict {step.verdict}, {len(step.refused)} acks refused")
        told.tally.jobs += len(done)
        done = [Finished(job) for job in step.jobs]
        if not done:
            await asyncio.sleep(IDLE)


async def main(batch: int, connections: int) -> None:
    """All dispatchers in one process, under one registration, as in a runner. Its name is its own in the pool."""
    async with await Database.open(os.environ[URL], size=connections) as database:
        slots = batch * connections
        who = Registration(name=f"bench-{os.getpid()}", pool=POOL, kinds=("noop",), slots=slots, lease=LEASE)
        incarnation = await Incarnation.register(database, who)
        await asyncio.gather(told.tell(), *(work(incarnation, batch) for _ in range(connections)))


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:3])))
