"""Where jobs come in and results go out: one round trip acks what is finished and claims for the slots that are free.

Everything here happens in the runner's main loop. A registration has one dispatcher; with its end the other is gone.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Final, Literal

from paceline.claims import Step
from paceline.job import JobId
from paceline_runner.metrics import Metrics
from paceline_runner.ports import AWAY
from paceline_runner.running import Stop
from paceline_runner.settings import Settings
from paceline_runner.tenure import Tenure
from paceline_runner.workbench import Workbench

LISTEN: Final = timedelta(seconds=60)
NOBODY_CLAIMS: Final = 5.0
"""So often a runner looks that may not claim now: a standby, or one of a paused pool."""
log = logging.getLogger("paceline.runner")


class End(Enum):
    """How the work under a registration ended."""

    DRAINED = "drained"
    LOST = "lost"


class Dispatcher:
    """Claims jobs for the workbench, and tells the database what became of them."""

    def __init__(
        self, settings: Settings, tenure: Tenure, bench: Workbench, metrics: Metrics, on_drain: Callable[[], None]
    ) -> None:
        """For one registration; `on_drain` is called when the database says that it drains."""
        self._settings, self._tenure, self._bench, self._metrics = settings, tenure, bench, metrics
        self._on_drain = on_drain
        self._incarnation = tenure.incarnation
        self._loop = asyncio.get_running_loop()
        self._claiming = True
        self._taken = 0
        self._more = True
        """There may be ready work that we have not seen."""
        self._poked = False
        """Since the last claim was sent: what it brings may be older."""
        self._in_flight = 0
        self._astray = False
        """A claim may have been made whose answer we did not hear."""
        self._wake = asyncio.Event()
        self._pressed = asyncio.Event()
        self._lost = asyncio.Event()
        self._leave_at: float | None = None
        self.runners = 1
        """How many serve the pool, as the database last said."""

    def wake(self) -> None:
        """There is something to tell."""
        self._wake.set()
        if len(self._bench.owed.finished) >= self._settings.batch:
            self._pressed.set()

    def poke(self) -> None:
        """Look again: a NOTIFY came, or the registration has changed."""
        self._more = self._poked = True
        self._wake.set()
        if self._tenure.cause is not None:
            self._lost.set()

    def drain(self, timeout: float | None) -> None:
        """Claim nothing any more; hand back what is unfinished after `timeout` seconds, None waits for ever."""
        self._claiming = False
        if timeout is not None:
            at = self._loop.time() + timeout
            if self._leave_at is None or at < self._leave_at:
                self._leave_at = at
                self._loop.call_at(at, self._bench.stop_all, Stop.DRAIN)
        self._wake.set()

    def compare(self, held: int) -> None:
        """The heartbeat has counted what we hold; more than we know of means that a claim went astray."""
        known = len(self._bench.attempts) + len(self._bench.owed.jobs)
        if held > known and not self._in_flight:
            self._astray = True
            self._wake.set()

    async def run(self) -> End:
        """Until all is drained, or the registration has ended."""
        if self._tenure.cause is not None:  # before anybody could poke us
            return End.LOST
        helpers = [asyncio.create_task(self._help()) for _ in range(self._settings.dispatchers - 1)]
        lost = asyncio.create_task(self._lost.wait())
        try:
            return await self._lead(lost)
        finally:
            for task in (*helpers, lost):
                task.cancel()
            await asyncio.gather(*helpers, lost, return_exceptions=True)

    async def _lead(self, lost: "asyncio.Task[Literal[True]]") -> End:
        """The one that is always there: it also polls, and decides when it is over."""
        while True:
            exchange = asyncio.create_task(self._exchange())
            # whoever is half gone never answers: the end of the registration ends the wait
            await asyncio.wait({exchange, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not exchange.done():
                exchange.cancel()
                await asyncio.gather(exchange, return_exceptions=True)
            if self._tenure.cause is not None:
                return End.LOST
            step = exchange.result()
            if not self._claiming and not self._bench.attempts and not self._bench.owed and not self._in_flight:
                return End.DRAINED
            if step is not None:
                await self._pause(step)

    async def _help(self) -> None:
        """One more, for as long as there is more than a batch to do."""
        while True:
            await self._pressed.wait()
            self._pressed.clear()
            while self._more and self._claiming and self._bench.free > 0 and not self._astray:
                await self._exchange()

    async def _exchange(self) -> Step | None:
        """Bring results, fetch jobs. None: nobody answered; what we owe is kept."""
        try:
            if self._astray and not self._in_flight:
                await self._find_astray()
            if self._bench.owed.failed or self._bench.owed.back:
                await self._bring_back()
            return await self._step()
        except AWAY as error:
            log.warning("no answer: %s", error)
            await asyncio.sleep(min(1.0, self._settings.heartbeat / 10))
        return None

    async def _step(self) -> Step:
        bench, settings = self._bench, self._settings
        want = min(settings.batch, bench.free) if self._claiming and not self._astray else 0
        if settings.max_jobs:
            want = min(want, settings.max_jobs - self._taken)
        done, bench.owed.finished = bench.owed.finished, []
        bench.free -= want
        self._taken += want
        self._in_flight += 1
        self._poked = False
        began, step = time.monotonic(), None
        try:
            step = await self._incarnation.step(want, done, listen=LISTEN if self._tenure.listening else None)
        finally:
            self._in_flight -= 1
            brought = 0 if step is None else len(step.jobs)
            bench.free += want - brought
            self._taken -= want - brought
            if step is None:
                bench.owed.finished[:0] = done
                self._astray = self._astray or want > 0
        self._metrics.stepped(time.monotonic() - began, step.jobs)
        self._metrics.refused(len(step.refused))
        self.runners = step.runners
        self._more = self._poked or (want > 0 and brought == want)
        if step.verdict == "fenced":
            self._tenure.end((await self._incarnation.heartbeat()).cause or "LeaseExpired")
        self._act_on(step)
        return step

    def _act_on(self, step: Step) -> None:
        if not self._tenure.valid:  # too late for an answer: somebody else may have these jobs by now
            self._bench.free += len(step.jobs)
            self._metrics.refused(len(step.jobs))
            return
        for job in step.jobs:
            self._bench.start(job)
        if step.verdict == "draining" and self._claiming:
            self.drain(None)
            self._on_drain()
        if self._settings.max_jobs and self._taken >= self._settings.max_jobs and self._claiming:
            self.drain(None)
            self._on_drain()
        for cancelled in step.cancelled | self._tenure.take_cancelled():
            if running := self._bench.attempts.get(JobId(cancelled)):
                self._bench.stop(running, Stop.CANCEL)
        if self._more and self._bench.free > 0:
            self._pressed.set()

    async def _bring_back(self) -> None:
        """Failures, and what goes back; each stays owed until the database has taken it."""
        owed = self._bench.owed
        for cause in list(owed.failed):
            failed = owed.failed.pop(cause)
            try:
                self._metrics.refused(len(await self._incarnation.fail(failed, cause)))
            except BaseException:
                owed.failed.setdefault(cause, [])[:0] = failed
                raise
        back, owed.back = owed.back, []
        try:
            if back:
                await self._incarnation.hand_back(back, "Drained")
        except BaseException:
            owed.back[:0] = back
            raise

    async def _find_astray(self) -> None:
        """Give back what was claimed for us and never reached us."""
        known = self._bench.owed.jobs | self._bench.attempts.keys()
        astray = {job: fence for job, fence in (await self._incarnation.held()).items() if job not in known}
        if astray:
            log.warning("%d jobs were claimed for us, and we did not hear of it: they go back", len(astray))
            await self._incarnation.return_claims(astray, "ClaimUnheard")
        self._astray = False

    async def _pause(self, step: Step) -> None:
        """Until there is something to do."""
        await asyncio.sleep(0)  # what finishes in this same round goes with the next step
        too_early = self._tenure.listening and not step.listening and not step.jobs and step.verdict == "ok"
        may_claim = self._claiming and self._bench.free > 0
        if self._bench.owed or self._astray or (may_claim and (self._more or too_early)):
            return
        self._wake.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._patience(step)):
                await self._wake.wait()
        await asyncio.sleep(0)
        self._more = True

    def _patience(self, step: Step) -> float:
        """How long to sleep if nobody wakes us: the more runners, the more seldom each of them looks."""
        if self._bench.holding:  # for cancels and the housekeeping; all together not more than 50 that do nothing else
            seconds = self._settings.tick * max(1.0, step.runners / 50)
        elif step.verdict in ("standby", "paused"):
            seconds = NOBODY_CLAIMS
        elif self._tenure.listening:
            seconds = max(5.0, step.runners / 150)
        else:
            seconds = max(1.0, step.runners / 50)
        return seconds * random.uniform(0.8, 1.0)  # noqa: S311 -- so that they do not all come at once
