"""The handler of the demo's runners. It leaves a row when it comes to its end: the queue's word is not enough."""

import asyncio
import os
from collections.abc import AsyncIterator

import asyncpg

from paceline import Context, Jobs

jobs = Jobs()


class Ledger:
    """A table beside the queue's own, in the same database."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        """With a connection of the runner's own."""
        self._pool = pool

    async def note(self, job: int) -> None:
        """Write down that a job has come to its end."""
        await self._pool.execute("INSERT INTO demo_ledger VALUES ($1)", job)


@jobs.provider
async def ledger() -> AsyncIterator[Ledger]:
    """One connection for a runner."""
    async with asyncpg.create_pool(os.environ["PACELINE_DATABASE_URL"], min_size=1, max_size=1) as pool:
        yield Ledger(pool)


@jobs.handler("work")
async def work(seconds: float, context: Context, ledger: Ledger) -> None:
    """Take a while, and write it down."""
    await asyncio.sleep(seconds)
    await ledger.note(context.job_id)
