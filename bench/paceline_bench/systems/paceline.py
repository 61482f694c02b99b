"""Paceline's own queue."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from paceline import NewJob, Queue
from paceline.claims import Finished, Incarnation, Registration
from paceline.database import Database
from paceline.migrate import migrate
from paceline.operating import Operating
from paceline_bench.systems import PAYLOAD, Produce, System

POOL = "bench"
INSTALL = "bench"


async def install(url: str) -> None:
    """Migrate."""
    await migrate(url)


@asynccontextmanager
async def producer(url: str, kind: str) -> AsyncIterator[Produce]:
    """`enqueue` for one, `enqueue_many` for more."""
    queue = await Queue.connect(url, POOL, connections=1)
    job = NewJob(kind=kind, payload=dict(PAYLOAD))

    async def produce(jobs: int) -> None:
        if jobs == 1:
            await queue.enqueue(job)
        else:
            await queue.enqueue_many([job] * jobs)

    try:
        yield produce
    finally:
        await queue.close()


class Claiming:
    """A registration without a runner."""

    def __init__(self, incarnation: Incarnation, batch: int) -> None:
        """Nothing is claimed yet."""
        self._incarnation = incarnation
        self._batch = batch
        self._held: list[Finished] = []

    async def claim(self) -> int:
        """Only claim: what was claimed before is acknowledged by a call of its own."""
        step = await self._incarnation.step(self._batch)
        self._held = [Finished(job) for job in step.jobs]
        return len(self._held)

    async def finish(self) -> None:
        """Only acknowledge."""
        await self._incarnation.step(0, self._held)


@asynccontextmanager
async def claimer(url: str, batch: int, name: str = "bench") -> AsyncIterator[Claiming]:
    """One connection, every kind."""
    who = Registration(name=name, pool=POOL, kinds=("*",), slots=batch, lease=timedelta(minutes=15))
    async with await Database.open(url, size=1) as database:
        yield Claiming(await Incarnation.register(database, who), batch)


@asynccontextmanager
async def depth(url: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    """The one call of the operator for all groups of a database."""
    async with await Database.open(url, size=1) as database:
        operating = Operating(database)
        yield lambda: operating.observe(INSTALL)


SYSTEM = System(
    name="paceline",
    table="paceline.job",
    install=install,
    producer=producer,
    claimer=claimer,
    depth=depth,
    done="SELECT (SELECT count(*) FROM paceline.history WHERE outcome = 'd')"
    " + (SELECT count(*) FROM paceline.history_late WHERE outcome = 'd')",
    copied={"seq": "nextval('paceline.seq')"},
    future={"state": "'s'", "run_at": "now() + interval '1 day'", "ready_at": "NULL", "priority": "9"},
)
