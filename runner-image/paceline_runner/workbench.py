"""The slots of a runner and the attempts in them: started, stopped, and settled exactly once each."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from paceline.claims import Failed, Finished
from paceline.handler import Handler
from paceline.handlers import Jobs
from paceline.job import Claimed, JobId
from paceline.outside import GRACE, Command
from paceline.retry import Retry
from paceline_runner.attempt import Broken, Cause, Done, Ended, Executor
from paceline_runner.executors import Executors
from paceline_runner.metrics import Metrics
from paceline_runner.running import Running, Stop
from paceline_runner.settings import Settings

_FINISHED: Final = Finished._make
log = logging.getLogger("paceline.runner")


@dataclass(slots=True)
class Owed:
    """What the database has not been told yet."""

    finished: list[Finished] = field(default_factory=list)
    failed: dict[str, list[Failed]] = field(default_factory=dict)
    """By cause."""
    back: list[Claimed] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether there is something."""
        return bool(self.finished or self.failed or self.back)

    @property
    def jobs(self) -> set[JobId]:
        """Whom it is about."""
        told = {each.job.id for each in self.finished} | {job.id for job in self.back}
        return told | {each.job.id for some in self.failed.values() for each in some}


class Workbench:
    """Holds what is being worked on. All of it happens in the main loop."""

    def __init__(self, settings: Settings, jobs: Jobs, executors: Executors, metrics: Metrics) -> None:
        """Begin with all slots free."""
        self._settings, self._jobs, self._executors, self._metrics = settings, jobs, executors, metrics
        self.wake: Callable[[], None] = lambda: None
        """Called whenever there is something to tell."""
        self._of_kind: dict[str, tuple[Handler, Executor]] = {}
        self._loop = asyncio.get_running_loop()
        self.attempts: dict[JobId, Running] = {}
        self.unruly: set[Running] = set()
        """Work that goes on although it has been settled; each keeps its slot."""
        self.free = settings.slots
        self.owed = Owed()
        self.on_report: Callable[[Running], None] = lambda _: None
        metrics.slots = lambda: (self.holding, settings.slots, len(self.unruly))

    @property
    def holding(self) -> int:
        """How many jobs are being worked on."""
        return len(self.attempts) + len(self.unruly)

    def start(self, job: Claimed) -> None:
        """Begin an attempt; its slot has been taken."""
        known = self._of_kind.get(job.kind)
        if known is None:
            handler = self._jobs.get(job.kind)
            known = self._of_kind[job.kind] = handler, self._executors.of(handler)
        handler, executor = known
        running = Running(job, handler, self._loop, self._reported)
        self.attempts[job.id] = running
        timeout = handler.timeout if job.timeout_ms is None else job.timeout
        if timeout is not None:
            running.deadline = running.started + timeout.total_seconds()
            running.timer = self._loop.call_later(timeout.total_seconds(), self._time_is_over, running)
        running.task = self._loop.create_task(running.work(executor, self._ended))

    def stop(self, running: Running, why: Stop) -> None:
        """Tell it to end; what does not heed that is settled without it after the grace."""
        if running.stop is None and not running.ended:
            running.stop = why
            if running.task is not None:
                running.task.cancel()
            self._loop.call_later(self._settings.grace + _own_grace(running.handler), self._give_up, running)

    def stop_all(self, why: Stop) -> None:
        """Tell all of them."""
        for running in list(self.attempts.values()):
            self.stop(running, why)

    def _reported(self, running: Running) -> None:
        if running.extended is not None and running.timer is None:  # it had no timeout before
            self._time_is_over(running)
        self.on_report(running)

    def _time_is_over(self, running: Running) -> None:
        left = (running.deadline or 0) - time.monotonic()
        if left > 0:  # it was extended
            running.timer = self._loop.call_later(left, self._time_is_over, running)
        else:
            self.stop(running, Stop.TIMEOUT)

    def _give_up(self, running: Running) -> None:
        if not running.settled:
            self.unruly.add(running)
            self._settle(running, None)
            self.wake()
            log.warning("job %s goes on after it was told to end: it is settled without it", running.job.id,
                        extra={"kind": running.job.kind, "fence": running.job.fence})  # fmt: skip

    def _ended(self, running: Running, result: Ended | None) -> None:
        running.ended = True
        self.free += 1
        if not running.settled:
            self._settle(running, result)
        else:
            self.unruly.discard(running)
        owed = len(self.owed.finished)
        if owed == 1 or owed % self._settings.batch == 0:  # in between, whoever was woken by the first is awake
            self.wake()

    def _settle(self, running: Running, result: Ended | None) -> None:
        """Decide what became of an attempt."""
        running.settled = True
        job, seconds = running.job, time.monotonic() - running.started
        if self.attempts.get(job.id) is running:
            del self.attempts[job.id]
        if running.timer is not None:
            running.timer.cancel()
        if running.stop is Stop.LOST:
            self._metrics.refused(1)
        elif isinstance(result, Done):
            self.owed.finished.append(_FINISHED((job, result.result, running.written)))
            self._metrics.done(job.kind, seconds)
        elif running.stop is Stop.DRAIN:  # also if the handler said by an error that it has stopped
            self.owed.back.append(job)
            self._metrics.handed_back(job.kind)
        else:
            broken = result if result is not None and running.stop is None else _stopped(running, seconds)
            told = Failed(job, broken.error, broken.retry_in, running.written)
            self.owed.failed.setdefault(broken.cause, []).append(told)
            self._metrics.failed(job.kind, seconds)
            log.info("job %s failed: %s", job.id, broken.error.partition("\n")[0],
                     extra={"kind": job.kind, "fence": job.fence, "attempt": job.tries + 1})  # fmt: skip


def _own_grace(handler: Handler) -> float:
    """Children are made to end after a grace of their own: until then nobody else may have their job."""
    if isinstance(handler.outside, Command):
        return handler.outside.grace.total_seconds()
    return GRACE.total_seconds() if handler.isolation == "process" else 0.0


def _stopped(running: Running, seconds: float) -> Broken:
    """What is said of an attempt that we ended."""
    if running.stop is not Stop.TIMEOUT:
        return Broken("cancelled", cause=Cause.CANCELLED)
    error = TimeoutError(f"timed out after {seconds:.1f} s")
    decision = running.handler.retry.decide(running.job.tries + 1, error)
    return Broken(str(error), decision.after if isinstance(decision, Retry) else None, Cause.TIMED_OUT)
