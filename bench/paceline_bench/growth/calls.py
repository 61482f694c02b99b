"""The calls whose cost is watched, each as runners, producers, people and the operator make it."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from paceline import NewJob, Queue
from paceline.claims import Finished, Incarnation
from paceline.database import Database
from paceline_bench.errors import NotMeasuredError
from paceline_bench.growth.sizes import Effort
from paceline_bench.measure import Measurement, percentile
from paceline_bench.systems import NOOP, PAYLOAD

Call = Callable[[], Awaitable[object]]
BATCH: Final = 50
CONNECTIONS: Final = 4
STEPS: Final = 20
"""Of each connection, for one value of `through`."""
DUE: Final = (
    "UPDATE paceline.tick SET next_at = '-infinity', mark_at = '-infinity', review_at = '-infinity', sampled_at = "
)
"""The housekeeping of a second is due as a whole; samples of pools are taken every ten seconds, and apart here."""
UNSAMPLED: Final = f"{DUE}'infinity'"
SAMPLED: Final = f"{DUE}'-infinity'"


async def nothing() -> None:
    """Before and after most calls."""


async def timed(call: Call, effort: Effort, before: Call = nothing, after: Call = nothing) -> list[float]:
    """Milliseconds of each call; what is done before and after one is not in its time."""
    found = []
    for number in range(effort.warm + effort.rounds * effort.calls):
        await before()
        began = time.perf_counter()
        await call()
        took = time.perf_counter() - began
        await after()
        if number >= effort.warm:
            found.append(took * 1000)
    return found


async def measured(
    name: str, call: Call, effort: Effort, before: Call = nothing, after: Call = nothing
) -> list[Measurement]:
    """A median for each round."""
    return medians(name, await timed(call, effort, before, after), effort)


def medians(name: str, took: Sequence[float], effort: Effort) -> list[Measurement]:
    """One value for each round."""
    rounds = [took[begin : begin + effort.calls] for begin in range(0, len(took), effort.calls)]
    return [Measurement(name, statistics.median(each), "ms") for each in rounds]


class Claims:
    """One connection that acknowledges what it had and claims the next, and puts as much in again."""

    def __init__(self, incarnation: Incarnation, kinds: Sequence[str] = (NOOP,)) -> None:
        """Nothing is claimed yet; new jobs take turns over the kinds."""
        self._incarnation = incarnation
        self._kinds = kinds
        self._held: list[Finished] = []
        self._turn = 0

    async def step(self) -> None:
        """One call."""
        found = await self._incarnation.step(BATCH, self._held)
        if found.verdict != "ok" or found.refused or not found.jobs:
            raise NotMeasuredError(f"a claim got {len(found.jobs)} jobs, {found.verdict}")
        self._held = [Finished(job) for job in found.jobs]

    async def refill(self, queue: Queue) -> None:
        """As many as were claimed last."""
        count = len(self._held)
        kinds = [self._kinds[(self._turn + number) % len(self._kinds)] for number in range(count)]
        self._turn += count
        await queue.enqueue_many([NewJob(kind=kind, payload=dict(PAYLOAD)) for kind in kinds])

    async def close(self) -> None:
        """Acknowledge the last ones."""
        await self._incarnation.step(0, self._held)
        self._held = []


async def claiming(
    what: str, incarnation: Incarnation, queue: Queue, effort: Effort, kinds: Sequence[str] = (NOOP,), slow: str = ""
) -> list[Measurement]:
    """The step of a runner under load; under `slow` what 99 of 100 did not exceed."""
    claims = Claims(incarnation, kinds)

    async def refill() -> None:
        await claims.refill(queue)

    took = await timed(claims.step, effort, after=refill)
    await claims.close()
    return [
        *medians(what, took, effort),
        *([Measurement(slow, percentile(took, 99), "ms")] if slow else ()),
    ]


async def through(name: str, incarnations: Sequence[Incarnation], queue: Queue, rounds: int) -> list[Measurement]:
    """Milliseconds that 1,000 jobs take through the queue, in and out, on some connections at once."""
    found = []
    for number in range(rounds + 1):
        workers = [Claims(each) for each in incarnations]
        began = time.perf_counter()
        await asyncio.gather(*(_work(each, queue) for each in workers))
        took = time.perf_counter() - began
        if number:  # the first round makes plans
            found.append(Measurement(name, took * 1e6 / (len(workers) * STEPS * BATCH), "ms/1,000 jobs"))
    return found


async def _work(claims: Claims, queue: Queue) -> None:
    for _ in range(STEPS):
        await claims.step()
        await claims.refill(queue)
    await claims.close()


async def enqueuing(name: str, queue: Queue, effort: Effort, kind: str = NOOP) -> list[Measurement]:
    """One job by one call."""

    async def one() -> None:
        await queue.enqueue(NewJob(kind=kind, payload=dict(PAYLOAD)))

    return await measured(name, one, effort)


async def ticking(name: str, database: Database, effort: Effort, due: str = UNSAMPLED) -> list[Measurement]:
    """The housekeeping with everything due that comes once a second, or once in ten."""

    async def prepare() -> None:
        await database.value(f"WITH due AS ({due} RETURNING 1) SELECT count(*) FROM due")

    async def tick() -> None:
        if not await database.value("SELECT paceline.tick()"):
            raise NotMeasuredError("the housekeeping was not due")

    return await measured(name, tick, effort, before=prepare)
