"""One attempt at work: what its handler sees of it, how it is stopped, and that it is settled exactly once."""

import asyncio
import time
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from paceline.claims import PROGRESS_LIMIT
from paceline.errors import InvalidInputError
from paceline.job import encode
from paceline_runner.attempt import Ended, Executor, Tail
from paceline_runner.logs import AttemptLogger
from paceline_runner.overheard import CURRENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paceline.handlers import Handler
    from paceline.job import Claimed, Fence, JobId


class Stop(Enum):
    """Why an attempt is to end before its work does."""

    TIMEOUT = "timeout"
    CANCEL = "cancel"
    DRAIN = "drain"
    LOST = "lost"


class Running:
    """An attempt and the task that does its work. Handlers get it as their `Context`, executors as their `Attempt`."""

    # what few attempts ever need stands here, so that most need not be given it one by one
    stop: Stop | None = None
    settled = False
    """What became of it has been decided, whether or not the work has ended."""
    ended = False
    deadline: float | None = None
    timer: asyncio.TimerHandle | None = None
    task: asyncio.Task[None] | None = None
    extended: timedelta | None = None
    said: "Sequence[JsonValue]" = ()
    """Progress that is not stored yet."""
    _output: Tail | None = None
    _log: AttemptLogger | None = None

    def __init__(
        self,
        job: "Claimed",
        handler: "Handler",
        loop: asyncio.AbstractEventLoop,
        on_report: "Callable[[Running], None]",
    ) -> None:
        """Begin; `on_report` is told in the loop when there is something to say about it."""
        self.job = job
        self.handler = handler
        self.on_report = on_report
        self.started = time.monotonic()
        self._loop = loop

    async def work(self, executor: Executor, ended: "Callable[[Running, Ended | None], None]") -> None:
        """Run it to its end, and tell; None where it was stopped before."""
        result: Ended | None = None
        CURRENT.set(self)
        try:
            result = await executor.run(self)
        except asyncio.CancelledError:
            if self.stop is None:  # the runner itself is ending
                raise
        ended(self, result)

    @property
    def output(self) -> Tail:
        """What it has written; made when it is first needed."""
        if self._output is None:
            self._output = Tail()
        return self._output

    @property
    def written(self) -> str | None:
        """The end of what it has written."""
        return None if self._output is None else self._output.text()

    @property
    def job_id(self) -> "JobId":
        """The job's number: the same in every try."""
        return self.job.id

    @property
    def fence(self) -> "Fence":
        """Grows with every claim."""
        return self.job.fence

    @property
    def tries(self) -> int:
        """How many tries of this job have failed before this one."""
        return self.job.tries

    @property
    def should_stop(self) -> bool:
        """Somebody cancelled the job, its time is over, or the runner has to leave."""
        return self.stop is not None

    @property
    def log(self) -> Any:
        """Lines that are kept with the attempt."""
        if self._log is None:
            self._log = AttemptLogger(self.job)
        return self._log

    def progress(self, value: JsonValue) -> None:
        """Tell those who watch how far it is; the last value counts."""
        encode(value, "progress", limit=PROGRESS_LIMIT)  # what cannot be stored is told here, to whoever said it
        self.said = (value,)
        self._loop.call_soon_threadsafe(self.on_report, self)

    def extend(self, by: timedelta) -> None:
        """Move this try's timeout, from now on."""
        if by <= timedelta(0):
            raise InvalidInputError(f"by {by} is out of range (more than nothing)")
        self.extended = by
        self.deadline = time.monotonic() + by.total_seconds()
        self._loop.call_soon_threadsafe(self.on_report, self)
