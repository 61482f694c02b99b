"""The queue for code that is not async: the same calls on a private event loop in a thread of its own."""

import asyncio
import os
import threading
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Self, TypeVar

from pydantic import JsonValue

from paceline.errors import PacelineError
from paceline.job import Enqueued, JobId, NewJob
from paceline.queue import Queue

Answer = TypeVar("Answer")


class ClosedError(PacelineError):
    """The queue was used after its end."""


class SyncQueue:
    """Jobs of one pool; see `Queue`. Any number of threads may share one.

    To enqueue in a transaction of your own, use `paceline.psycopg` on your connection.
    """

    def __init__(self, url: str, pool: str = "default", *, connections: int = 4) -> None:
        """Open the database behind `url`."""
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="paceline-queue", daemon=True)
        self._thread.start()
        try:
            self._queue = self._run(Queue.connect(url, pool, connections=connections))
        except BaseException:
            self._end()
            raise

    @classmethod
    def connect(cls, url: str, pool: str = "default", *, connections: int = 4) -> Self:
        """Open the database behind `url`."""
        return cls(url, pool, connections=connections)

    @property
    def pool(self) -> str:
        """The pool's name."""
        return self._queue.pool

    def close(self) -> None:
        """Let calls of other threads finish, then close the connections. A second time does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        if self._process == os.getpid():
            try:
                asyncio.run_coroutine_threadsafe(self._finish(), self._loop).result()
            finally:
                self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def enqueue(self, job: NewJob | str, payload: JsonValue = None) -> Enqueued:
        """Put one job in: `enqueue(NewJob(kind="mail", ...))`, or shortly `enqueue("mail", {...})`."""
        return self._run(self._queue.enqueue(job, payload))

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Put many jobs in by one call: all of them or none."""
        return self._run(self._queue.enqueue_many(jobs))

    def cancel(self, job: JobId) -> str:
        """Take a job out: `cancelled`, `cancelling` (it runs; its handler is told), `finished` or `unknown`."""
        return self._run(self._queue.cancel(job))

    def retry(self, job: JobId) -> str:
        """Try a job again now: `retried`, or why not: `waiting`, `running`, `duplicate`, `finished` or `unknown`."""
        return self._run(self._queue.retry(job))

    def redrive(self, jobs: Sequence[JobId]) -> list[JobId]:
        """Put dead letters back into the queue; those that went are returned."""
        return self._run(self._queue.redrive(jobs))

    def purge(self, jobs: Sequence[JobId]) -> list[JobId]:
        """Delete dead letters for good; those that went are returned."""
        return self._run(self._queue.purge(jobs))

    def tick(self) -> bool:
        """Do the housekeeping if it is due (whether it was), and fire cron."""
        return self._run(self._queue.tick())

    def pause(self) -> None:
        """Let nobody claim from this pool."""
        self._run(self._queue.pause())

    def resume(self) -> None:
        """End a pause."""
        self._run(self._queue.resume())

    def _run(self, call: Coroutine[object, object, Answer]) -> Answer:
        with self._lock:
            problem = self._problem()
            if not problem:
                future = asyncio.run_coroutine_threadsafe(call, self._loop)
        if problem:
            call.close()
            raise ClosedError(problem)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C ends the wait: then the call ends too
            raise

    def _problem(self) -> str | None:
        if self._process != os.getpid():  # a fork copies no threads: the call would wait for ever
            return "this queue was opened before the process forked: open one in each process"
        return "this queue is closed: open a new one" if self._closed else None

    async def _finish(self) -> None:
        """Calls that were handed in before this one are tasks of the loop by now."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)
        await self._queue.close()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:  # nobody may wait for an answer that will not come
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.wait(left))
        self._loop.close()
