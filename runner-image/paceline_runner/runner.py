"""A runner from its start to its end: registers, works, drains, leaves."""

import asyncio
import atexit
import logging
import os
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from types import FrameType
from typing import Final, NoReturn

from paceline.claims import Beat, Incarnation, Registration
from paceline.database import Database
from paceline.errors import DatabaseError, PacelineError, SchemaError
from paceline.handlers import Jobs
from paceline.queue import Queue
from paceline.scope import Scope
from paceline_runner.children.outside import OutsideExecutors
from paceline_runner.dispatcher import Dispatcher, End
from paceline_runner.executors import Executors, PythonExecutor
from paceline_runner.keeper import FENCED, FOR_GOOD, Keeper, Stuck, why
from paceline_runner.metrics import Metrics
from paceline_runner.reports import Reports
from paceline_runner.server import Server
from paceline_runner.settings import MARGIN, Settings
from paceline_runner.status import Status
from paceline_runner.tenure import Tenure
from paceline_runner.workbench import Workbench

HOUSE_PAUSE: Final = 1.0
AWAY_PAUSE: Final = 1.0
PULSE: Final = 0.5
NO_PULSE: Final = 3.0
"""Seconds without a pulse after which a handler is taken to hold the loop."""
log = logging.getLogger("paceline.runner")


class Runner:
    """One process, one Runner, one registration after the other."""

    def __init__(self, settings: Settings, jobs: Jobs, app: str) -> None:
        """`app` is where child processes find the same jobs: `module:attribute`."""
        self._settings, self._jobs, self._app = settings, jobs, app
        self._metrics = Metrics(settings.pool)
        self._bench: Workbench | None = None
        self._dispatcher: Dispatcher | None = None
        self._tenure: Tenure | None = None
        self._drain_by: float | None = None
        """Whoever told us to leave, told when: monotonic; None while nobody did."""
        self._told_by: float | None = None
        """The same, as a signal said it; known also while the loop does not turn."""
        self._pulse = time.monotonic()
        self._leaving = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.status = Status(settings.name, self._holding)
        self._outside = OutsideExecutors(app, settings.slots, time.monotonic() + settings.lease - MARGIN)
        self._keeper = Keeper(
            settings,
            holding=self._holding,
            kill=self._outside.kill_all,
            renewed=self._outside.renew,
            beaten=lambda beat: self._soon(self._beaten, beat),
            stuck=self._stuck,
        )

    def _holding(self) -> int:
        return 0 if self._bench is None else self._bench.holding

    def _soon(self, call: Callable[..., None], *args: object) -> None:
        self._loop.call_soon_threadsafe(call, *args)

    async def run(self) -> int:
        """Until it has to leave; the exit code."""
        self._keeper.start()
        self._serve()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._signalled)
            self._note(number)
        signal.signal(signal.SIGCONT, self._continued)
        pulse = asyncio.create_task(self._beat_pulse())
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

    async def _beat_pulse(self) -> None:
        """Show the keeper that the loop turns."""
        while True:
            self._pulse = time.monotonic()
            await asyncio.sleep(PULSE)

    def _note(self, number: signal.Signals) -> None:
        """Hear of a signal also while a handler holds the loop: then Python calls this, and the loop does nothing."""
        loops = signal.getsignal(number)

        def noted(signum: int, frame: FrameType | None) -> None:
            if self._told_by is None:
                self._told_by = time.monotonic() + self._settings.drain_timeout
            if callable(loops):
                loops(signum, frame)

        signal.signal(number, noted)

    def _stuck(self) -> Stuck | None:
        """Whether a handler holds the loop although its time is over, or ours; asked by the keeper."""
        now = time.monotonic()
        if now - self._pulse < NO_PULSE:
            return None
        late = now - self._settings.grace
        if self._told_by is not None and self._told_by < late:
            return Stuck("was told to leave, and a handler does not yield", leaving=True)
        for running in list(self._bench.attempts.values()) if self._bench else ():
            if running.deadline is not None and running.deadline < late:
                return Stuck(
                    f"has a handler that does not yield, and job {running.job.id} has timed out", leaving=False
                )
        return None

    def _serve(self) -> None:
        server = Server(self.status, self._metrics, lambda: self._soon(self.drain), lambda: self._keeper.last_beat)
        if serve := server.start(self._settings.host, self._settings.port):
            threading.Thread(target=serve, name="paceline-port", daemon=True).start()

    def _continued(self, *_: object) -> None:
        """We were stopped. Python calls this before anything else in the main thread: nothing of old work goes on."""
        if self._tenure is not None and not self._tenure.valid and self._holding():
            self._outside.kill_all()
            self._keeper.die(why("LeaseExpired"))

    def _signalled(self) -> None:
        """The first signal drains, the second one ends the wait."""
        if self._leaving.is_set():
            log.warning("told again to leave: what is unfinished goes back now")
            self.drain(0.0)
        else:
            self.drain()

    def drain(self, timeout: float | None = None) -> None:
        """Claim nothing any more, finish, leave; after the timeout what is unfinished goes back."""
        seconds = self._settings.drain_timeout if timeout is None else timeout
        by = time.monotonic() + seconds
        if not self._leaving.is_set():
            log.info("draining: %d jobs are running, at most %g s", self._holding(), seconds)
        self._leaving.set()
        self.status.state = "draining"
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
            log.info("draining: %d jobs are running, as long as it takes", self._holding())
            self.status.state = "draining"

    async def _serve_once(self, executors: Executors) -> int | None:
        """One registration; None if there shall be another."""
        database = await self._opened()
        if database is None:
            return 0
        try:
            tenure = await self._registered(database)
            if tenure is None:
                return 0
            end = await self._work(tenure, database, executors)
            if end is End.DRAINED:
                await self._leave(tenure)
                return 0
            return self._after(tenure)
        finally:
            self._dispatcher = self._tenure = None
            await _closed(database)

    async def _work(self, tenure: Tenure, database: Database, executors: Executors) -> End:
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
        beside = [asyncio.create_task(reports.run()), asyncio.create_task(self._keep_house(database, dispatcher))]
        leaving = asyncio.create_task(self._say_leaving(tenure.incarnation))
        try:
            return await dispatcher.run()
        finally:
            for task in (*beside, leaving):
                task.cancel()
            await asyncio.gather(*beside, leaving, return_exceptions=True)

    async def _say_leaving(self, incarnation: Incarnation) -> None:
        """Those who watch the database see that we drain, and another leader is elected."""
        await self._leaving.wait()
        while True:
            try:
                await incarnation.drain()
            except DatabaseError:
                await asyncio.sleep(AWAY_PAUSE)
            else:
                return

    async def _keep_house(self, database: Database, dispatcher: Dispatcher) -> None:
        """Due jobs, leases, keys and cron, also while nobody claims: about once a second for all runners of a pool."""
        queue = Queue(database, self._metrics.pool)
        while True:
            await asyncio.sleep(HOUSE_PAUSE * dispatcher.runners * random.uniform(0.5, 1.5))  # noqa: S311 -- not all at once
            try:
                await queue.tick()
            except PacelineError as error:
                log.debug("housekeeping: %s", error)

    async def _opened(self) -> Database | None:
        """Connected, however long that takes; None if we have to leave meanwhile."""
        told = ""
        while not self._leaving.is_set():
            try:
                claiming = self._settings.dispatchers
                return await Database.open(self._settings.database_url, size=claiming + 1, ready=claiming)
            except (DatabaseError, TimeoutError) as error:
                if str(error) != told:
                    log.warning("waiting for the database: %s", error)
                    told = str(error)
                self.status.state = "unreachable"
                await self._or_leaving(AWAY_PAUSE)
        return None

    async def _registered(self, database: Database) -> Tenure | None:
        told = ""
        while not self._leaving.is_set():
            sent = time.monotonic()
            try:
                incarnation = await Incarnation.register(database, self._registration())
                if self._settings.taints is not None:
                    await incarnation.taint(self._settings.taints)
            except (DatabaseError, SchemaError, TimeoutError) as error:
                if str(error) != told:
                    log.warning("waiting to be registered: %s", error)
                    told = str(error)
                await self._or_leaving(AWAY_PAUSE)
                continue
            self._metrics.pool = incarnation.pool_name
            log.info("registered as %s in pool %s", self._settings.name, incarnation.pool_name,
                     extra={"incarnation": incarnation.id})  # fmt: skip
            return Tenure(incarnation, sent + self._settings.lease - MARGIN, lambda: self._soon(self._poke))
        return None

    def _poke(self) -> None:
        if self._dispatcher is not None:
            self._dispatcher.poke()

    async def _or_leaving(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._leaving.wait()
        except TimeoutError:
            pass

    def _registration(self) -> Registration:
        settings = self._settings
        return Registration(
            name=settings.name, pool=settings.pool, kinds=self._jobs.kinds, tags=settings.tags, slots=settings.slots,
            lease=timedelta(seconds=settings.lease), install=settings.install, namespace=settings.namespace,
            group=settings.group, external=settings.external, hostname=socket.gethostname(),
            pod_uid=settings.pod_uid, revision=settings.revision,
        )  # fmt: skip

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
            log.critical("runner %s %s: it ends", self._settings.name, why(cause))
            if self._holding():
                self._outside.kill_all()
                leave_at_once(FENCED)
            return FENCED
        log.warning("the registration has ended (%s): registering anew", tenure.cause)
        self.status.state = "unreachable"
        return 0 if self._leaving.is_set() else None


async def _closed(database: Database) -> None:
    """A server that is half gone must not keep us."""
    try:
        async with asyncio.timeout(2):
            await database.close()
    except (PacelineError, TimeoutError, OSError):
        database.terminate()


def leave_at_once(code: int) -> NoReturn:
    """End the process. Python's own way waits for threads that may never end, and takes longer than a drain."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)
