"""Runners that are taken away while jobs flow: whether one of them had a job in its hands."""

import asyncio
import contextlib
import random
import statistics
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from paceline import NewJob, Queue
from paceline_bench.death import DONE, LEFT
from paceline_bench.errors import NotMeasuredError
from paceline_bench.hands import Hands, hands
from paceline_bench.measure import Curve, Measurement
from paceline_bench.operator_command import operator
from paceline_bench.scaled import block, sizes
from paceline_bench.site import Site, until

GROUP: Final = "builds"
FIGURES: Final = ("cycles", "cycles_interrupted", "cycles_jobs", "cycles_busy", "cycles_seconds")
WANTED: Final = "cycles_wanted"
THERE: Final = "cycles_runners"
WAITING: Final = "cycles_waiting"
JOB_SECONDS: Final = (0.1, 3.0)
"""Evenly between these: somebody becomes idle, and somebody claims, at every moment of the operator's rhythm."""
FLOW: Final = 4.0
"""Jobs a second that come between the bursts, too."""
PATIENCE: Final = 600.0
SAMPLE_SECONDS: Final = 1.0
READY: Final = "SELECT count(*) FROM paceline.job WHERE state = 'r'"
INTERRUPTED: Final = """
SELECT (SELECT count(*) FROM paceline.attempt WHERE outcome <> 'd')
     + (SELECT count(*) FROM paceline.attempt_late WHERE outcome <> 'd')"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many runners have to go, and how many jobs bring them."""

    cycles: int
    burst: int


FULL: Final = Size(cycles=1000, burst=45)
QUICK: Final = Size(cycles=200, burst=45)


@dataclass
class Load:
    """Jobs that come one by one all the time, and many at once whenever the last such burst is over."""

    queue: Queue
    made: int = 0
    adding: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held from before jobs are sent until they are counted."""
    _luck: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 -- no secret

    async def add(self, count: int) -> None:
        """So many at once."""
        jobs = [NewJob(kind="noop", payload=self._luck.uniform(*JOB_SECONDS)) for _ in range(count)]
        async with self.adding:
            await self.queue.enqueue_many(jobs)
            self.made += count

    async def flow(self) -> None:
        """One by one, for ever."""
        while True:
            await asyncio.sleep(self._luck.expovariate(FLOW))
            await self.add(1)


async def cycle(site: Site, size: Size, curves: dict[str, Curve]) -> list[Measurement]:
    """Bursts, until as many runners have been retired and are gone; then what became of every job."""
    await site.trust(site.url)
    async with operator(site), hands(site) as crew:
        await site.add_group(GROUP, 0, scheduled=False, autoscaling=block(2 * size.burst))
        await site.settled(1, 0)
        queue = Queue(crew.database, GROUP)
        load, moment, began = Load(queue), datetime.now(UTC), time.monotonic()
        async with _beside(load, crew, began, curves):
            while crew.gone < size.cycles:
                await _burst(load, crew, size)
        took, cycles, busy = time.monotonic() - began, crew.gone, crew.busy_then
        await until(lambda: _empty(queue), "all jobs are done")
        decided = await sizes(queue.database, GROUP, moment)
        curves[WANTED] = Curve(WANTED, "runners", tuple(point for point in decided if point[0] <= took))
        done = await queue.database.value(DONE)
        interrupted = await queue.database.value(INTERRUPTED)
    return figures(cycles, busy, load.made, done, interrupted, took)


def figures(cycles: int, busy: list[int], made: int, done: int, interrupted: int, took: float) -> list[Measurement]:
    """What came of it; jobs that are not done although nobody was interrupted spoil all."""
    if done != made and not interrupted:
        raise NotMeasuredError(f"{done} of {made} jobs were done well")
    return [
        Measurement("cycles", cycles, "runners"),
        Measurement("cycles_interrupted", interrupted, "attempts"),
        Measurement("cycles_jobs", made, "jobs"),
        Measurement("cycles_busy", statistics.median(busy), "runners"),
        Measurement("cycles_seconds", took, "s"),
    ]


async def _burst(load: Load, crew: Hands, size: Size) -> None:
    """Let most of those go that a burst has brought, then come with the next."""
    await load.add(size.burst)
    before = crew.gone

    async def over() -> bool:
        crew.require()
        return crew.gone >= size.cycles or crew.gone - before >= size.burst // 2 > len(crew.alive)

    await until(over, "a burst is over, and its runners are gone", PATIENCE, pause=0.1)


@contextlib.asynccontextmanager
async def _beside(load: Load, crew: Hands, began: float, curves: dict[str, Curve]) -> AsyncIterator[None]:
    """The steady flow, and what is to be seen over time."""
    there: list[tuple[float, float]] = []
    waiting: list[tuple[float, float]] = []

    async def sample() -> None:
        while True:
            now = time.monotonic() - began
            there.append((now, float(len(crew.alive))))
            waiting.append((now, float(await crew.database.value(READY))))
            await asyncio.sleep(SAMPLE_SECONDS)

    tasks = [asyncio.create_task(load.flow()), asyncio.create_task(sample())]
    try:
        yield
        if broken := [each for each in tasks if each.done()]:
            raise NotMeasuredError("jobs came no more") from broken[0].exception()
    finally:
        async with load.adding:  # what is on its way may be in the database: it counts
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    curves[THERE] = Curve(THERE, "runners", tuple(there))
    curves[WAITING] = Curve(WAITING, "jobs", tuple(waiting))


async def _empty(queue: Queue) -> bool:
    return bool(await queue.database.value(LEFT) == 0)
