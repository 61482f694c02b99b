"""SAQ on PostgreSQL. A job with a negative time to live is deleted when it is finished."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from saq import Job, Queue, Status  # type: ignore[import-not-found] # only where benches run

from paceline_bench.systems import PAYLOAD, Produce, System

DELETE = -1
WAIT = 5.0


@asynccontextmanager
async def connected_queue(url: str, connections: int = 1) -> AsyncIterator[Queue]:
    """Its own pool of connections."""
    queue = Queue.from_url(url, min_size=connections, max_size=connections)
    await queue.connect()
    try:
        yield queue
    finally:
        await queue.disconnect()


async def install(url: str) -> None:
    """Connecting makes the tables."""
    async with connected_queue(url):
        pass


@asynccontextmanager
async def producer(url: str, kind: str) -> AsyncIterator[Produce]:
    """It has no call for many jobs: they are enqueued side by side."""
    async with connected_queue(url) as queue:

        async def produce(jobs: int) -> None:
            await asyncio.gather(*(queue.enqueue(kind, ttl=DELETE, **PAYLOAD) for _ in range(jobs)))

        yield produce


class Claiming:
    """One task that waits for a job; so many as wait are claimed by one statement, and written one by one."""

    def __init__(self, queue: Queue) -> None:
        """Nothing is claimed yet."""
        self._queue = queue
        self._held: Job | None = None

    async def claim(self) -> int:
        """One job."""
        self._held = await self._queue.dequeue(timeout=WAIT, poll_interval=WAIT)
        return int(self._held is not None)

    async def finish(self) -> None:
        """It deletes itself."""
        if self._held is not None:
            await self._queue.finish(self._held, Status.COMPLETE)


@asynccontextmanager
async def claimer(url: str, _: int) -> AsyncIterator[Claiming]:
    """One connection."""
    async with connected_queue(url) as queue:
        yield Claiming(queue)


@asynccontextmanager
async def depth(url: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    """`count` of what is queued."""
    async with connected_queue(url) as queue:
        yield lambda: queue.count("queued")


SYSTEM = System(
    name="saq",
    table="saq_jobs",
    install=install,
    producer=producer,
    claimer=claimer,
    depth=depth,
    order="lock_key",
    copied={"key": "gen_random_uuid()::text"},
    future={"scheduled": "(extract(epoch FROM now()) + 86400)::bigint", "priority": "0"},
)
