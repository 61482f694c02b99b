"""PgQueuer, with the table settings that its manual recommends (`pgq autovac`)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

from pgqueuer import AsyncpgDriver, Job, Queries  # type: ignore[import-not-found] # only where benches run
from pgqueuer.ports.repository import EntrypointExecutionParameter  # type: ignore[import-not-found]

from paceline_bench.server import connected
from paceline_bench.systems import BODY, NOOP, Produce, System


async def install(url: str) -> None:
    """Its tables stay durable: everybody's are."""
    async with connected(url) as connection:
        queries = Queries(AsyncpgDriver(connection))
        await queries.install()
        await queries.optimize_autovacuum()


@asynccontextmanager
async def producer(url: str, kind: str) -> AsyncIterator[Produce]:
    """`enqueue` with lists, also for one."""
    async with connected(url) as connection:
        queries = Queries(AsyncpgDriver(connection))

        async def produce(jobs: int) -> None:
            await queries.enqueue([kind] * jobs, [BODY.encode()] * jobs, [0] * jobs)

        yield produce


class Claiming:
    """The queries of a manager, without the manager."""

    def __init__(self, queries: Queries, batch: int) -> None:
        """Nothing is claimed yet."""
        self._queries = queries
        self._batch = batch
        self._who = uuid4()
        self._held: list[Job] = []

    async def claim(self) -> int:
        """Dequeue without any limit."""
        self._held = await self._queries.dequeue(
            batch_size=self._batch,
            entrypoints={NOOP: EntrypointExecutionParameter(concurrency_limit=0)},
            queue_manager_id=self._who,
            global_concurrency_limit=None,
            heartbeat_timeout=timedelta(minutes=15),
        )
        return len(self._held)

    async def finish(self) -> None:
        """Move them to the log."""
        await self._queries.log_jobs([(job, "successful", None) for job in self._held])


@asynccontextmanager
async def claimer(url: str, batch: int) -> AsyncIterator[Claiming]:
    """One connection."""
    async with connected(url) as connection:
        yield Claiming(Queries(AsyncpgDriver(connection)), batch)


@asynccontextmanager
async def depth(url: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    """`queue_size`."""
    async with connected(url) as connection:
        yield Queries(AsyncpgDriver(connection)).queue_size


SYSTEM = System(
    name="pgqueuer",
    table="pgqueuer",
    install=install,
    producer=producer,
    claimer=claimer,
    depth=depth,
    done="SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'",
    future={"execute_after": "now() + interval '1 day'", "priority": "9"},
)
