"""A runner from its start to its end: registers, works, drains, leaves."""

import asyncio
import atexit
import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final, NoReturn

from paceline.claims import Beat
from paceline.errors import PacelineError
from paceline.handlers import Jobs
from paceline.scope import Scope
from paceline_runner.children.outside import OutsideExecutors
from paceline_runner.direct import DirectWay
from paceline_runner.dispatcher import Dispatcher, End
from paceline_runner.entry import Entry
from paceline_runner.executors import Executors, PythonExecutor
from paceline_runner.keeper import FENCED, FOR_GOOD, Keeper, why
from paceline_runner.metrics import Metrics
from paceline_runner.ports import AWAY, Seat, Way
from paceline_runner.pulse import Pulse
from paceline_runner.reports import Reports
from paceline_runner.running import Stop
from paceline_runner.server import Server
from paceline_runner.settings import MARGIN, Settings
from paceline_runner.status import Status
from paceline_runner.tenure import Tenure
from paceline_runner.workbench import Workbench

PAUSE: Final = 1.0
COLLECT_AFTER: Final = 10_000
log = logging.getLogger("paceline.runner")


class Runner:
    """One process, one Runner, one registration after the other."""

    def __init__(self, settings: Settings, jobs: Jobs, app: str) -> None:
        """`app` is where child processes find the same jobs: `module:attribute`."""
        self._settings, self._jobs = settings, jobs
        self._metrics = Metrics(settings.pool)
        self._bench: Workbench | None = None
        self._dispatcher: Dispatcher | None = None
        self._tenure: Tenure | None = None
        self._drain_by: float | None = None
        """Whoever told us to leave, told when: monotonic; None while nobody did."""
        self._pulse = Pulse(settings, lambda: self._bench)
        self._leaving = asyncio.Event()
        self._was_signalled = False
        self._loop = asyncio.get_running_loop()
        aside = asyncio.new_event_loop()
        self._way = way_of(settings, aside)
        self.status = Status(settings.name, self._holding)
        self._outside = OutsideExecutors(app, settings.slots, time.monotonic() + settings.lease - MARGIN)
        self._keeper = Keeper(
            settings,
            self._way,
            aside,
            holding=self._holding,
            kill=self._outside.kill_all,
            renewed=self._outside.renew,
            beaten=lambda beat: self._soon(self._beaten, beat),
            stuck=self._pulse.stuck,
        )
        self._entry = Entry(self._way, jobs.kinds, self._leaving)

    def _holding(self) -> int:
        return 0 if self._bench is None else self._bench.holding

    def _soon(self, call: Callable[..., None], *args: object) -> None:
        self._loop.call_soon_threadsafe(call, *args)

    async def run(self) -> int:
        """Until it has to leave; the exit code."""
        _spare_the_collector()
        self._keeper.start()
        self._serve()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._signalled)
            self._pulse.note(number)
        signal.signal(signal.SIGCONT, self._continued)
        pulse = asyncio.create_task(self._pulse.beat())
        try:
            async with Scope(self._jobs) as scope, AsyncExitStack() as stack:
                python = PythonExecutor(scope, self._settings.slots)
                stack.callback(python.close)
                stack.push_async_callback(self._outside.close)
                executors = Executors(python, self._outside.of, self._settings.pool)
                while (code := await self._serve_once(executors)) is None:
                    pass
        finally:
            pulse.cancel()
            self.status.say_idle()
        return code

    def _serve(self) -> None:
        server = Server(self.status, self._metrics, lambda: self._soon(self.drain), lambda: self._keeper.last_beat)
        if self._settings.port is None:
            return
        if serve := server.start(self._settings.host, self._settings.port):
            threading.Thread(target=serve, name="paceline-port", daemon=True).start()

    def _continued(self, *_: object) -> None:
        """We were stopped. Python calls this before anything else in the main thread: nothing of old work goes on."""
        if self._tenure is not None and not self._tenure.valid and self._holding():
            self._outside.kill_all()
            self._keeper.die(why("LeaseExpired"))

    def _signalled(self) -> None:
        """The first signal drains, the second one ends the wait; one after a drain by the port is the first."""
        if self._was_signalled:
            log.warning("told again to leave: what is unfinished goes back now")
            self.drain(0.0)
            return
        self._was_signalled = True
        if self._leaving.is_set():
            log.info("told to leave: it drains already")
        self.drain()

    def drain(self, timeout: float | None = None) -> None:
        """Claim nothing any more, finish, leave; after the timeout what is unfinished goes back."""
        seconds = self._settings.drain_timeout if timeout is None else timeout
        by = time.monotonic() + seconds
        self.status.state = "draining"
        if not self._leaving.is_set():
            log.info("draining: %d jobs are running, at most %g s", self._holding(), seconds)
        self._leaving.set()
        if self._drain_by is None or by < self._drain_by:
            self._drain_by = by
            if self._dispatcher is not None:
                self._dispatcher.drain(seconds)

    def _beaten(self, beat: Beat) -> None:
        """What the heartbeat brought, in the main loop."""
        if self._dispatcher is None or self._tenure is None:
            return
        if beat.cancelled:
            self._tenure.cancel(frozenset(beat.cancelled))
        if self._bench is not None:
            for job in beat.refused:
                if (running := self._bench.attempts.get(job.id)) and running.fence == job.fence:
                    self._bench.stop(running, Stop.LOST)
        self._dispatcher.compare(beat.held)
        if beat.verdict == "draining" and not self._leaving.is_set():
            if beat.leave:
                self.drain()
            else:
                self._dispatcher.drain(None)
                self._drained_from_afar()

    def _drained_from_afar(self) -> None:
        """Rolls and scale-down take us out: no claim, no hurry."""
        if self.status.state == "active":
            self.status.state = "draining"
            log.info("draining: %d jobs are running, as long as it takes", self._holding())

    async def _serve_once(self, executors: Executors) -> int | None:
        """One registration; None if there shall be another."""
        try:
            if not await self._entry.connected():
                return 0
            self.status.name = self._way.runner
            tenure = await self._entry.registered(lambda: self._soon(self._poke))
            if tenure is None:
                return 0
            self._metrics.pool = tenure.incarnation.pool_name
            end = await self._work(tenure, executors)
            if end is End.DRAINED:
                await self._leave(tenure)
                return 0
            return self._after(tenure)
        finally:
            self._dispatcher = self._tenure = None
            await self._way.close()

    async def _work(self, tenure: Tenure, executors: Executors) -> End:
        self._tenure = tenure
        bench = self._bench = Workbench(self._settings, self._jobs, executors, self._metrics)
        dispatcher = Dispatcher(self._settings, tenure, bench, self._metrics, self._drained_from_afar)
        self._dispatcher, bench.wake = dispatcher, dispatcher.wake
        reports = Reports(tenure.incarnation, bench)
        self._outside.renew(tenure.deadline)
        self._keeper.keep(tenure)
        if self._leaving.is_set() and self._drain_by is not None:
            dispatcher.drain(max(0.0, self._drain_by - time.monotonic()))
        else:
            self.status.state = "draining" if tenure.draining else "active"
        log.info("registered as %s in pool %s", self._way.runner, tenure.incarnation.pool_name,
                 extra={"incarnation": tenure.incarnation.id})  # fmt: skip
        house = self._way.keep_house(self._metrics.pool, lambda: dispatcher.runners)
        beside = [asyncio.create_task(reports.run()), asyncio.create_task(house)]
        leaving = asyncio.create_task(self._say_leaving(tenure.incarnation))
        try:
            return await dispatcher.run()
        finally:
            for task in (*beside, leaving):
                task.cancel()
            await asyncio.gather(*beside, leaving, return_exceptions=True)

    async def _say_leaving(self, seat: Seat) -> None:
        """Those who watch see that we drain, and another leader is elected."""
        await self._leaving.wait()
        while True:
            try:
                await seat.drain()
            except AWAY:
                await asyncio.sleep(PAUSE)
            else:
                return

    def _poke(self) -> None:
        if self._dispatcher is not None:
            self._dispatcher.poke()

    async def _leave(self, tenure: Tenure) -> None:
        self.status.say_idle()
        try:
            async with asyncio.timeout(5):
                await tenure.incarnation.deregister()
        except (PacelineError, TimeoutError) as error:
            log.warning("could not say goodbye: %s", error)
        tenure.end("Deregistered")
        log.info("left")

    def _after(self, tenure: Tenure) -> int | None:
        """A registration that ended under us."""
        self._metrics.lost()
        cause = tenure.cause or ""
        if cause in FOR_GOOD or self._holding():
            log.critical("runner %s %s: it ends", self._way.runner, why(cause))
            if self._holding():
                self._outside.kill_all()
                leave_at_once(FENCED)
            return FENCED
        log.warning("the registration has ended (%s): registering anew", tenure.cause)
        self.status.state = "unreachable"
        return 0 if self._leaving.is_set() else None


def way_of(settings: Settings, aside: asyncio.AbstractEventLoop) -> Way:
    """How this runner gets at its jobs; `aside` is the keeper's loop."""
    if settings.gateway is None:
        return DirectWay(settings)
    from paceline_runner.gateway.way import GatewayWay  # with aiohttp, which takes 0.4 s and 13 MB

    return GatewayWay(settings, settings.gateway, aside)


def _spare_the_collector() -> None:
    """What is there now stays, and what jobs leave is mostly freed by itself: no need to look every 700 objects.

    A tenth of what a job that does nothing costs.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])


def leave_at_once(code: int) -> NoReturn:
    """End the process. Python's own way waits for threads that may never end, and takes longer than a drain."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)
