"""Many runners in one process: each with a registration, heartbeats, LISTEN, housekeeping and a claim loop of its own.

It is the runner's own code, with one connection for each that beats and listens; interpreter, threads and the
connections for claims are shared. A lease that is lost is counted, and the runner registers anew.
"""

import asyncio
import contextlib
import gc
import os
import random
import sys
import time
from typing import Final

import uvloop

from paceline import Queue
from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.errors import PacelineError
from paceline.line import Line
from paceline_bench import scraped
from paceline_bench.noop import jobs
from paceline_bench.systems.paceline import POOL
from paceline_bench.workers import URL, told
from paceline_runner.attempt import Attempt, Done, Ended
from paceline_runner.direct import HOUSE_PAUSE
from paceline_runner.dispatcher import Dispatcher
from paceline_runner.ear import Ear
from paceline_runner.executors import Executors
from paceline_runner.metrics import Metrics
from paceline_runner.settings import MARGIN, Settings
from paceline_runner.tenure import Tenure
from paceline_runner.workbench import Workbench

CONNECTIONS: Final = 16
"""For the claims of all of them."""
AT_ONCE: Final = 10
"""So many register at the same time."""
LINE_SECONDS: Final = 60.0
"""For a connection on a machine that is busy with all the others."""
READY: Final = "listening"
COUNTS: Final = "counts"
INTERVAL: Final = 0.5
NAMES: Final = ("claim_seconds_count", "jobs_claimed_total", "jobs_fenced_total", "leases_lost_total")


class Worker:
    """Does the work of a job that is none."""

    async def run(self, attempt: Attempt) -> Ended:  # noqa: ARG002 -- whatever it is
        """At once."""
        return Done()


class Runner:
    """One of them."""

    def __init__(self, number: int, url: str, database: Database, executors: Executors, metrics: Metrics) -> None:
        """It has not registered yet."""
        self._settings = Settings(database_url=url, name=f"driven-{number}", pool=POOL, slots=1, batch=1)
        self._database, self._executors, self._metrics = database, executors, metrics

    @property
    def listening(self) -> bool:
        """Whether it is told of work."""
        return self._tenure.listening

    async def enter(self) -> None:
        """Register, and listen where that is possible."""
        settings, sent = self._settings, time.monotonic()
        who = Registration(name=settings.name, pool=POOL, kinds=jobs.kinds, slots=settings.slots)
        incarnation = await Incarnation.register(self._database, who)
        self._tenure = Tenure(incarnation, sent + settings.lease - MARGIN, lambda: None)
        bench = Workbench(settings, jobs, self._executors, self._metrics)
        self._dispatcher = Dispatcher(settings, self._tenure, bench, self._metrics, lambda: None)
        bench.wake, self._tenure.wake = self._dispatcher.wake, self._dispatcher.poke
        self._line = await Line.open(settings.database_url, timeout=LINE_SECONDS)
        self._seat = incarnation.over(self._line)
        self._ear = Ear(self._dispatcher.poke, lambda: self._dispatcher.runners)
        self._tenure.listening = await self._line.listen(incarnation.channel, self._ear.hear)

    async def work(self, phase: float) -> None:
        """Until it is ended."""
        while True:
            beside = [asyncio.create_task(each) for each in (self._beat(phase), self._keep_house())]
            try:
                await self._dispatcher.run()
            finally:
                for each in beside:
                    each.cancel()
                self._ear.close()
                self._line.close()
            self._metrics.lost()
            await self.enter()

    async def _beat(self, phase: float) -> None:
        """Spread over the interval, as those of runners that began at different times."""
        await asyncio.sleep(self._settings.heartbeat * phase)
        while True:
            sent = time.monotonic()
            with contextlib.suppress(PacelineError):  # the next one may come through
                beat = await self._seat.heartbeat()
                if beat.verdict == "fenced":
                    return self._tenure.end(beat.cause or "LeaseExpired")
                self._tenure.renew(sent + self._settings.lease - MARGIN)
            await asyncio.sleep(self._settings.heartbeat)

    async def _keep_house(self) -> None:
        queue = Queue(self._database, POOL)
        while True:
            pause = HOUSE_PAUSE * self._dispatcher.runners
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 -- as there
            with contextlib.suppress(PacelineError):
                await queue.tick()


async def count(metrics: Metrics) -> None:
    """Say again and again how often they asked, and what came of it."""
    while True:
        text = metrics.text().decode()
        told.said(COUNTS, *(scraped.total(text, f"paceline_runner_{name}") for name in NAMES))
        await asyncio.sleep(INTERVAL)


async def main(first: int, number: int) -> None:
    """So many, named by numbers from the first on."""
    url, metrics = os.environ[URL], Metrics(POOL)
    executors = Executors(Worker(), lambda _: Worker(), POOL)
    async with await Database.open(url, size=CONNECTIONS) as database:
        runners = [Runner(first + each, url, database, executors, metrics) for each in range(number)]
        gate = asyncio.Semaphore(AT_ONCE)

        async def enter(runner: Runner) -> None:
            async with gate:
                await runner.enter()

        await asyncio.gather(*map(enter, runners))
        gc.freeze()  # to look through all of them again and again would hold up their claims
        told.said(READY, sum(each.listening for each in runners))
        works = [each.work(place / number) for place, each in enumerate(runners)]
        await asyncio.gather(count(metrics), *works)


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:3])))
