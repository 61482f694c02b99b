"""Chancy. Finished jobs stay in its table until they are pruned, which nobody does here."""

import dataclasses
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chancy import Chancy, Job, Queue, QueuedJob, Worker  # type: ignore[import-not-found] # only where benches run
from psycopg import AsyncConnection

from paceline_bench.systems import PAYLOAD, Produce, System

NAME = "bench"
HANDLERS = "paceline_bench.workers.told"


def application(url: str, connections: int = 1, *, notifications: bool = False) -> Chancy:
    """Quiet, and without plugins: nothing here needs to be pruned, recovered or counted."""
    return Chancy(
        url,
        min_connection_pool_size=connections,
        max_connection_pool_size=connections,
        notifications=notifications,
        no_default_plugins=True,
        log=logging.getLogger("chancy"),
    )


def declared(concurrency: int) -> Queue:
    """Jobs in the worker's own loop; it looks again as soon as one is done."""
    return Queue(NAME, concurrency=concurrency, executor=Chancy.Executor.Async, eager_polling=True, polling_interval=1)


async def install(url: str) -> None:
    """Migrate."""
    async with application(url) as chancy:
        await chancy.migrate()


@asynccontextmanager
async def producer(url: str, kind: str) -> AsyncIterator[Produce]:
    """`push` for one, `push_many` for more; workers are told, as by default."""
    async with application(url, notifications=True) as chancy:
        job = Job(func=f"{HANDLERS}.{kind}_keyword", queue=NAME, kwargs=PAYLOAD)

        async def produce(jobs: int) -> None:
            if jobs == 1:
                await chancy.push(job)
            else:
                async for _ in chancy.push_many([job] * jobs, batch_size=jobs):
                    pass

        yield produce


class Claiming:
    """The calls of a worker that was not started."""

    def __init__(self, worker: Worker, connection: "AsyncConnection[tuple[object, ...]]", batch: int) -> None:
        """Nothing is claimed yet."""
        self._worker = worker
        self._connection = connection
        self._batch = batch
        self._held: list[QueuedJob] = []

    async def claim(self) -> int:
        """Fetch, and commit."""
        self._held = await self._worker.fetch_jobs(declared(self._batch), self._connection, up_to=self._batch)
        await self._connection.commit()
        return len(self._held)

    async def finish(self) -> None:
        """Write the new states down."""
        for job in self._held:
            done = dataclasses.replace(job, state=QueuedJob.State.SUCCEEDED, attempts=job.attempts + 1)
            await self._worker.queue_update(done)
        await self._worker.flush()


@asynccontextmanager
async def claimer(url: str, batch: int) -> AsyncIterator[Claiming]:
    """One connection to claim."""
    async with application(url, 2) as chancy, chancy.pool.connection() as connection:
        yield Claiming(Worker(chancy), connection, batch)


SYSTEM = System(
    name="chancy",
    table="chancy_jobs",
    install=install,
    producer=producer,
    claimer=claimer,
    done="SELECT count(*) FROM chancy_jobs WHERE state = 'succeeded'",
    pending="state NOT IN ('succeeded', 'failed')",
    copied={"id": "uuidv7()"},
    future={"scheduled_at": "now() + interval '1 day'", "priority": "9"},
)
