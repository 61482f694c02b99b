"""Producers that enqueue while everything breaks, and never twice.

The answer to a commit may be lost with its connection. The first producer writes each batch into a ledger of its own in
the same transaction, and looks there before it asks again. The others give every job a dedupe value and simply ask
again: while a job is live no second one is made. One that is finished by then is made once more, and both end.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from history.plan import Batch
from history.site import AWAY
from paceline.database import Database
from paceline.errors import DatabaseError
from paceline.job import JobId
from paceline.queue import Queue

Answer = TypeVar("Answer")


async def produce(url: str, number: int, batches: tuple[tuple[str, Batch], ...]) -> dict[int, int]:
    """The jobs that it was told of, by their numbers in the plan."""
    told: dict[int, int] = {}
    database = await opened(url)
    try:
        for pool, batch in batches:
            await asyncio.sleep(batch.gap)
            queue = Queue(database, pool)
            ids = await _insist(queue, batch, f"{number}/{batch.first}" if number == 0 else None)
            told |= dict(enumerate(ids, batch.first))
            for n in batch.cancel:
                await _cancel(queue, JobId(told[n]))
    finally:
        database.terminate()
    return told


async def opened(url: str) -> Database:
    """Connections of a producer; those who break things do not wait until it has them."""
    return await _asked(partial(Database.open, url))


async def _insist(queue: Queue, batch: Batch, ledger: str | None) -> list[int]:
    async def enqueue() -> list[int]:
        if ledger is None:
            return [each.id for each in await queue.enqueue_many(batch.jobs)]
        return await _with_ledger(queue, batch, ledger)

    return await _asked(enqueue)


async def _asked(call: Callable[[], Awaitable[Answer]]) -> Answer:
    """Ask until there is an answer."""
    end = time.monotonic() + AWAY
    while True:
        try:
            return await call()
        except DatabaseError as error:
            if time.monotonic() > end:
                raise TimeoutError("nothing can be enqueued any more") from error
            await asyncio.sleep(0.05)


async def _with_ledger(queue: Queue, batch: Batch, ledger: str) -> list[int]:
    async with queue.database.connection() as connection, connection.transaction():
        if made := await connection.fetchval("SELECT jobs FROM audit.batch WHERE id = $1", ledger):
            return list(made)
        ids = [each.id for each in await queue.enqueue_many(batch.jobs, connection=connection)]
        await connection.execute("INSERT INTO audit.batch (id, jobs) VALUES ($1, $2)", ledger, ids)
        return [int(each) for each in ids]


async def _cancel(queue: Queue, job: JobId) -> None:
    """Once: whether it was heard is as good as unknown, and the job may end either way."""
    try:
        await queue.cancel(job)
    except DatabaseError:
        await asyncio.sleep(0.05)
