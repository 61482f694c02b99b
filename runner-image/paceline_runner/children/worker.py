"""A worker process: imports the application once, then runs its handlers, one job at a time, for the runner.

Started as `python -m paceline_runner.children.worker module:attribute`, with a socket to the runner at descriptor 3.
What handlers write to stdout and stderr, logging included, goes to the runner through pipes.
"""

import asyncio
import contextlib
import logging
import os
import socket
import sys
from datetime import timedelta
from traceback import format_exc
from typing import Any, Final

from pydantic import JsonValue

from paceline.claims import PROGRESS_LIMIT
from paceline.errors import InvalidInputError, NotFoundError
from paceline.handlers import Handler, Jobs
from paceline.job import Claimed, Fence, JobId, encode
from paceline.scope import Scope
from paceline_runner.app import load
from paceline_runner.attempt import Broken, Done, Ended, Tail
from paceline_runner.children.wire import CHANNEL, ClosedError, Message, Wire
from paceline_runner.executors import PythonExecutor

FRAMES: Final = 10
"""So much of the traceback is told if the application cannot be imported."""


class Assignment:
    """The job at hand: the handler's Context, and what the executor wants to know of an attempt."""

    def __init__(self, job: Claimed, handler: Handler, wire: Wire) -> None:
        """Begin; messages to the runner go over `wire`."""
        self.job = job
        self.handler = handler
        self.output = Tail()
        self.log: Any = logging.getLogger(f"paceline.jobs.{job.kind}")
        self.should_stop = False
        self._wire = wire
        self._loop = asyncio.get_running_loop()

    @property
    def job_id(self) -> JobId:
        """The job's number."""
        return self.job.id

    @property
    def fence(self) -> Fence:
        """Grows with every claim."""
        return self.job.fence

    @property
    def tries(self) -> int:
        """How many tries have failed before this one."""
        return self.job.tries

    def progress(self, value: JsonValue) -> None:
        """Tell those who watch how far it is."""
        encode(value, "progress", limit=PROGRESS_LIMIT)
        self._say({"is": "progress", "value": value})

    def extend(self, by: timedelta) -> None:
        """Move this try's timeout, from now on."""
        if by <= timedelta(0):
            raise InvalidInputError(f"by {by} is out of range (more than nothing)")
        self._say({"is": "extend", "seconds": by.total_seconds()})

    def _say(self, message: Message) -> None:
        self._loop.call_soon_threadsafe(self._wire.send, {**message, "fence": self.job.fence})


async def serve(wire: Wire, jobs: Jobs) -> None:
    """Do one job after the other until the runner hangs up; in the middle of a job that is the end of everything."""
    async with Scope(jobs) as scope:
        executor = PythonExecutor(scope, 1)
        wire.send({"is": "ready"})
        working: asyncio.Task[None] | None = None
        assignment: Assignment | None = None
        while True:
            try:
                message = await wire.receive()
            except ClosedError:
                break
            if message["is"] == "stop" and assignment and working:
                assignment.should_stop = True
                working.cancel()
            elif message["is"] == "job":
                job = Claimed(*message["job"])
                wire.send({"is": "begun", "fence": job.fence})
                try:
                    assignment = Assignment(job, jobs.get(job.kind), wire)
                except NotFoundError as error:  # the files have changed since the runner read them
                    wire.send({"is": "unfit", "error": str(error), "fence": job.fence})
                    continue
                working = asyncio.create_task(_work(executor, assignment, wire))
        if working and not working.done():
            os._exit(1)
        executor.close()


async def _work(executor: PythonExecutor, assignment: Assignment, wire: Wire) -> None:
    try:
        answer = _answer(await executor.run(assignment))
    except asyncio.CancelledError:
        answer = _answer(Broken("stopped"))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a handler may have closed or replaced it
            stream.flush()
    wire.send({**answer, "fence": assignment.job.fence})


def _answer(ended: Ended) -> Message:
    if isinstance(ended, Done):
        return {"is": "done", "result": ended.result}
    retry_in = None if ended.retry_in is None else ended.retry_in.total_seconds()
    return {"is": "broken", "error": ended.error, "retry_in": retry_in, "cause": ended.cause}


async def main(app: str) -> None:
    """Import and serve; what is wrong with the application is told to the runner."""
    os.set_inheritable(CHANNEL, False)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S")
    wire = await Wire.open(socket.socket(fileno=CHANNEL))
    hello = await wire.receive()
    sys.path += [each for each in hello["path"] if each not in sys.path]
    try:
        jobs = load(app)
    except BaseException:
        wire.send({"is": "unfit", "error": format_exc(limit=-FRAMES).strip()})
        wire.close()
        raise SystemExit(1) from None
    await serve(wire, jobs)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
