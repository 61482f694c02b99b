"""Single enqueues that come at the same time are one enqueue of many."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from paceline.database import Database
from paceline.errors import DatabaseError, NotAllowedError, PacelineError, PoolFullError
from paceline.job import Enqueued, NewJob
from paceline.once import enqueue_once
from paceline.queue import Queue
from paceline_gateway.metrics import Metrics
from paceline_gateway.together import Together

LARGE: Final = 2**16
"""Characters of a payload: a larger one goes alone, or 500 of them could be one statement of 500 MB."""

OF_ALL: Final = (PoolFullError, NotAllowedError)
"""Refusals that hold for every later job of the pool too."""


class Wanted(NamedTuple):
    """A job, and how long its caller waits for its end; None: not at all."""

    job: NewJob
    wait: timedelta | None = None


class Coalescer:
    """Enqueues for many callers."""

    def __init__(self, database: Database, metrics: Metrics) -> None:
        """Into a database that is open."""
        self._database, self._metrics = database, metrics
        self._under_way: dict[tuple[str, bool], Together[Wanted, Enqueued]] = {}

    async def enqueue(self, pool: str, job: NewJob, wait: timedelta | None = None) -> Enqueued:
        """One job; whatever is wrong with it is its caller's alone to hear."""
        wanted, place = Wanted(job, wait), (pool, wait is not None)
        if len(job.body) > LARGE:
            return (await self._put(pool, [wanted]))[0]
        together = self._under_way.get(place)
        if together is None:
            together = self._under_way[place] = Together(lambda some: self._send(pool, some))
        try:
            return await together.do(wanted)
        finally:
            if together.idle:  # names of pools that there never were must not stay
                self._under_way.pop(place, None)

    async def _send(self, pool: str, some: Sequence[Wanted]) -> list[Enqueued | PacelineError]:
        try:
            return list(await self._put(pool, some))
        except DatabaseError:  # it may have been committed or not: nobody tries again for the callers
            raise
        except PacelineError as error:
            if len(some) == 1:
                return [error]
        # one of them is at fault, or the pool has room for some of them only: of 500 one is found with 18 statements
        half = len(some) // 2
        answers = await self._send(pool, some[:half])
        if isinstance(answers[-1], OF_ALL):  # nor for those behind it
            return answers + answers[-1:] * (len(some) - half)
        return answers + await self._send(pool, some[half:])

    async def _put(self, pool: str, some: Sequence[Wanted]) -> list[Enqueued]:
        jobs = [each.job for each in some]
        waits = [each.wait for each in some if each.wait is not None]
        with self._metrics.writing("enqueue"):
            if waits:
                return await enqueue_once(self._database, pool, jobs, waits=waits)
            return await Queue(self._database, pool).enqueue_many(jobs)
