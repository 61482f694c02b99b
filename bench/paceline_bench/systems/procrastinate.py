"""procrastinate. Its workers delete what succeeded, so that the live table is what is left to do."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from procrastinate import App, PsycopgConnector  # type: ignore[import-not-found] # only where benches run
from procrastinate.jobs import Job, Status  # type: ignore[import-not-found]

from paceline_bench.systems import PAYLOAD, Produce, System


def application(url: str, connections: int = 1) -> App:
    """The same number of connections all the time."""
    return App(connector=PsycopgConnector(conninfo=url, min_size=connections, max_size=connections))


async def install(url: str) -> None:
    """Apply the schema."""
    async with application(url).open_async() as app:
        await app.schema_manager.apply_schema_async()


@asynccontextmanager
async def producer(url: str, kind: str, lock: Callable[[int], str | None] = lambda _: None) -> AsyncIterator[Produce]:
    """`defer` for one, `batch_defer` for more; or one by one, each with its lock."""
    async with application(url).open_async() as app:
        task = app.configure_task(kind)

        async def produce(jobs: int) -> None:
            if jobs == 1:
                await task.defer_async(**PAYLOAD)
            elif lock(0) is None:
                await task.batch_defer_async(*[PAYLOAD] * jobs)
            else:
                for number in range(jobs):
                    await app.configure_task(kind, lock=lock(number)).defer_async(**PAYLOAD)

        yield produce


class Claiming:
    """Its job manager, without a worker. It claims one job at a time."""

    def __init__(self, app: App, worker: int) -> None:
        """Nothing is claimed yet."""
        self._app = app
        self._worker = worker
        self._held: Job | None = None

    async def claim(self) -> int:
        """From any queue."""
        self._held = await self._app.job_manager.fetch_job(queues=None, worker_id=self._worker)
        return int(self._held is not None)

    async def finish(self) -> None:
        """Delete it, as the workers do here."""
        if self._held is not None:
            await self._app.job_manager.finish_job(self._held, status=Status.SUCCEEDED, delete_job=True)


@asynccontextmanager
async def claimer(url: str, _: int) -> AsyncIterator[Claiming]:
    """One connection."""
    async with application(url).open_async() as app:
        yield Claiming(app, await app.job_manager.register_worker())


@asynccontextmanager
async def depth(url: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    """`list_queues`."""
    async with application(url).open_async() as app:
        yield app.job_manager.list_queues_async


SYSTEM = System(
    name="procrastinate",
    table="procrastinate_jobs",
    install=install,
    producer=producer,
    claimer=claimer,
    depth=depth,
    future={"scheduled_at": "now() + interval '1 day'", "priority": "9"},
)
