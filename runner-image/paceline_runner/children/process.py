"""Work done by Python functions in processes of their own: what crashes there takes nobody with it."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, Final

from paceline.outside import GRACE
from paceline_runner.attempt import Attempt, Cause, Ended
from paceline_runner.children.errors import NotStartedError, ProcessCrashedError
from paceline_runner.children.outcome import again
from paceline_runner.children.remote import RemoteWorker
from paceline_runner.children.supervisor import Children

MOST_DEAD: Final = 3
"""So many workers may turn out to be dead, or not to start, before it is held against the job."""


class ProcessExecutor:
    """A pool of worker processes. Nothing is started before the first job; from then on one stands ready ahead."""

    def __init__(
        self, children: Children, app: str, *, slots: int, grace: timedelta = GRACE, jobs_each: int = 1000
    ) -> None:
        """At most `slots` workers that import `app` (`module:attribute`), each for at most `jobs_each` jobs."""
        self._children = children
        self._app = app
        self._slots = slots
        self._grace = grace.total_seconds()
        self._jobs_each = jobs_each
        self._free = asyncio.Semaphore(slots)
        self._busy = 0
        self._idle: list[RemoteWorker] = []
        self._coming: list[asyncio.Task[RemoteWorker]] = []
        """Workers that nobody waits for yet, started or not."""
        self._leaving: set[asyncio.Task[None]] = set()

    async def run(self, attempt: Attempt) -> Ended:
        """Let a worker call the handler; one that turns out to be dead costs no try."""
        for _ in range(MOST_DEAD):
            try:
                return await self._run(attempt)
            except NotStartedError as error:
                fault = error
            except ProcessCrashedError as error:
                return again(attempt, error, Cause.CRASHED)
        return again(attempt, fault, Cause.CRASHED)

    async def _run(self, attempt: Attempt) -> Ended:
        await self._free.acquire()
        self._busy += 1
        try:
            worker = await self._take()
        except BaseException:
            self._done()
            raise
        self._start_ahead()
        try:
            return await worker.work(attempt, self._grace)
        finally:
            if worker.usable and worker.jobs < self._jobs_each:
                self._idle.append(worker)
                self._done()
            else:  # the outcome does not wait for it, the slot does
                self._in_background(worker.close(self._grace)).add_done_callback(lambda _: self._done())

    async def close(self) -> None:
        """End all workers: those at rest have time to close what they have open."""
        for task in self._coming:
            task.cancel()
        came = await asyncio.gather(*self._coming, return_exceptions=True)
        self._coming.clear()
        for worker in (*self._idle, *(each for each in came if isinstance(each, RemoteWorker))):
            self._in_background(worker.close(self._grace))
        self._idle.clear()
        await asyncio.gather(*self._leaving, return_exceptions=True)

    async def _take(self) -> RemoteWorker:
        while self._idle:
            worker = self._idle.pop()
            if worker.usable:
                return worker
            self._in_background(worker.kill())  # it died at rest, which costs no job a try
        task = self._coming.pop() if self._coming else self._begin()
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._coming.append(task)  # the next job will have it
            raise

    def _start_ahead(self) -> None:
        if not self._idle and not self._coming and self._busy < self._slots:
            self._coming.append(self._begin())

    def _begin(self) -> asyncio.Task[RemoteWorker]:
        return asyncio.create_task(RemoteWorker.start(self._children, self._app))

    def _done(self) -> None:
        self._busy -= 1
        self._free.release()

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
        return task
