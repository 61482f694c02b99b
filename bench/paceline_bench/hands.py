"""Runners without processes: each pod that appears gets the runner's own claim loop, in this process.

To start a thousand processes takes minutes of two cores, and says nothing about who is taken away. So the pods have no
node. The bench says of each that it is ready, registers it with the pod's UID, beats for it, and lets it claim, work,
drain and leave by the code of the runner. When the pod object goes, its runner is gone in the middle of whatever it
does: no grace, as if it had been killed. A kubelet would be kinder.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from paceline.claims import Incarnation
from paceline.database import Database
from paceline.line import Line
from paceline_bench.crew import HEARTBEAT, ready_status, registration
from paceline_bench.errors import NotMeasuredError
from paceline_bench.noop import jobs
from paceline_bench.site import PODS, Site
from paceline_dev.node.api import MERGE, AnswerError
from paceline_dev.node.wire import Json

if TYPE_CHECKING:
    from paceline_runner.attempt import Attempt, Ended
    from paceline_runner.dispatcher import Dispatcher
    from paceline_runner.workbench import Workbench

CONNECTIONS: Final = 8


@dataclass
class Hands:
    """Those that are there, and what came of the others."""

    site: Site
    database: Database
    line: Line
    following: "asyncio.Task[None] | None" = None
    alive: "dict[str, asyncio.Task[None]]" = field(default_factory=dict)
    """By the UIDs of their pods."""
    at_work: "dict[str, tuple[Dispatcher, Workbench]]" = field(default_factory=dict)
    gone: int = 0
    """Pods that were there and are no more."""
    busy_then: list[int] = field(default_factory=list)
    """How many others were at work when each of them went."""
    heard: set[str] = field(default_factory=set)

    @property
    def busy(self) -> int:
        """How many hold a job."""
        return sum(bench.holding > 0 for _, bench in self.at_work.values())

    @property
    def tasks(self) -> "list[asyncio.Task[None]]":
        """All that goes on."""
        return [*([self.following] if self.following else []), *self.alive.values()]

    def require(self) -> None:
        """Complain if one has failed."""
        if failed := [each for each in self.tasks if each.done() and each.exception()]:
            raise NotMeasuredError(f"{len(failed)} runners broke") from failed[0].exception()

    async def follow(self, version: str) -> None:
        """Every pod from its first event to its last."""
        while True:
            async for kind, pod in self.site.api.watch(PODS, version):
                version = pod["metadata"]["resourceVersion"]
                if kind == "ADDED":
                    self.alive[pod["metadata"]["uid"]] = asyncio.create_task(self._live(pod))
                elif kind == "DELETED":
                    self._end(pod["metadata"]["uid"])

    def _end(self, uid: str) -> None:
        self.gone += 1
        self.alive.pop(uid).cancel()
        self.at_work.pop(uid, None)
        self.busy_then.append(self.busy)

    async def _live(self, pod: Json) -> None:
        """Register, be ready, work until the database says that it is enough, leave."""
        uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
        incarnation = await Incarnation.register(self.database, registration(pod))
        await self._listen(incarnation.channel)
        with contextlib.suppress(AnswerError):  # it was taken away before it was ready
            await self.site.api.patch(f"{PODS}/{name}/status", ready_status(), MERGE)
        dispatcher, beat = self._begin(uid, name, incarnation)
        try:
            await dispatcher.run()
        finally:
            beat.cancel()
            self.at_work.pop(uid, None)
        await incarnation.deregister()

    def _begin(self, uid: str, name: str, incarnation: Incarnation) -> "tuple[Dispatcher, asyncio.Task[None]]":
        """What `paceline_runner.runner` does with a registration, without its thread and its port."""
        from paceline_runner.dispatcher import Dispatcher
        from paceline_runner.executors import Executors
        from paceline_runner.metrics import Metrics
        from paceline_runner.settings import Settings
        from paceline_runner.tenure import Tenure
        from paceline_runner.workbench import Workbench

        pool = incarnation.pool_name
        settings = Settings(database_url="", name=name, pool=pool, slots=1)
        tenure = Tenure(incarnation, time.monotonic() + settings.lease, lambda: None)
        tenure.listening = True
        metrics = Metrics(pool)
        bench = Workbench(settings, jobs, Executors(Worker(), lambda _: Worker(), pool), metrics)
        dispatcher = Dispatcher(settings, tenure, bench, metrics, lambda: None)
        bench.wake = dispatcher.wake
        self.at_work[uid] = dispatcher, bench

        async def beat() -> None:
            while True:
                await asyncio.sleep(HEARTBEAT)
                sent = time.monotonic()
                if (await incarnation.heartbeat()).verdict == "draining":
                    dispatcher.drain(None)
                tenure.renew(sent + settings.lease)

        return dispatcher, asyncio.create_task(beat())

    async def _listen(self, channel: str) -> None:
        """One line hears for all of them."""
        if channel not in self.heard:
            self.heard.add(channel)
            await self.line.listen(channel, self._poke)

    def _poke(self) -> None:
        for dispatcher, _ in self.at_work.values():
            dispatcher.poke()


class Worker:
    """Takes as long over a job as its payload says."""

    async def run(self, attempt: "Attempt") -> "Ended":
        """Wait."""
        from paceline_runner.attempt import Done

        await asyncio.sleep(float(attempt.job.body))
        return Done()


@contextlib.asynccontextmanager
async def hands(site: Site) -> AsyncIterator[Hands]:
    """From now on."""
    async with await Database.open(site.url, size=CONNECTIONS, ready=CONNECTIONS, application="bench") as database:
        found = Hands(site, database, await Line.open(site.url))
        version = (await site.api.get(PODS))["metadata"]["resourceVersion"]
        found.following = asyncio.create_task(found.follow(version))
        try:
            yield found
            found.require()
        finally:
            every = found.tasks
            for task in every:
                task.cancel()
            await asyncio.gather(*every, return_exceptions=True)
            found.line.close()
