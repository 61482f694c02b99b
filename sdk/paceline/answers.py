"""The ends of jobs, for many who wait for many of them: one connection hears of them all, one statement reads them.

A job that somebody waits for is marked, and its end told on one channel. What is told only wakes: whoever waits looks
when he begins, when he is told, after a reconnect, and now and then anyway.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable
from typing import Final

from paceline.database import Database
from paceline.errors import PacelineError
from paceline.job import JobId, decode
from paceline.line import Lines
from paceline.results import Outcome

CHANNEL: Final = "paceline_ended"
DEAF_SECONDS: Final = 0.5
"""So often all that are waited for are looked at while nobody tells us."""
HEARING_SECONDS: Final = 5.0
"""And while somebody does: a connection may be dead and not know it."""
RECONNECT_SECONDS: Final = 1.0
DEAF_LINE_SECONDS: Final = 60.0
"""After so long another line is tried where one tells nothing: a server that was slow to tell is quick again."""
AWAIT: Final = "SELECT id, state, result, cause, error FROM paceline.await_outcome($1)"
log = logging.getLogger("paceline")


class Answers:
    """Waits for jobs of one database."""

    def __init__(self, database: Database, lines: Lines) -> None:
        """`lines` are opened past PgBouncer."""
        self._database, self._lines = database, lines
        self._waiting: dict[JobId, set[asyncio.Future[Outcome]]] = {}
        self._due: set[JobId] = set()
        self._look = asyncio.Event()
        self._hearing = False

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(map(len, self._waiting.values()))

    @property
    def hearing(self) -> bool:
        """Whether ends are told to us."""
        return self._hearing

    async def wait(self, job: JobId) -> Outcome:
        """How it ended, once it has; for as long as the caller wants to wait."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(job, set()).add(future)
        self._look_at([job])  # it may have ended already, and its end is not told before somebody has looked
        try:
            return await future
        finally:
            left = self._waiting[job]
            left.discard(future)
            if not left:
                del self._waiting[job]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen and look while the block runs."""
        tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._read())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _look_at(self, jobs: Iterable[JobId]) -> None:
        self._due.update(jobs)
        self._look.set()

    def _heard(self, told: str) -> None:
        if told.isdecimal() and JobId(int(told)) in self._waiting:
            self._look_at([JobId(int(told))])

    async def _listen(self) -> None:
        well = True
        while True:
            try:
                line = await self._lines.open()
                try:
                    self._hearing = await line.hear(CHANNEL, self._heard)
                    well = True
                    self._look_at(self._waiting)  # what ended while nobody told us
                    await line.until_closed(DEAF_LINE_SECONDS)
                    while self._hearing and not line.closed:
                        await line.until_closed(DEAF_LINE_SECONDS)
                finally:
                    self._hearing = False
                    self._look.set()
                    line.close()
            except PacelineError as error:
                if well:
                    log.warning("nobody tells us of jobs that end: %s", error)
                well = False
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _read(self) -> None:
        clock = asyncio.get_running_loop().time
        looked, well = clock(), True
        while True:
            all_due = looked + (HEARING_SECONDS if self._hearing else DEAF_SECONDS)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(all_due):
                    await self._look.wait()
            self._look.clear()
            due, self._due = self._due, set()
            if clock() >= all_due:
                due, looked = set(self._waiting), clock()
            asked = [job for job in due if job in self._waiting]
            if not asked:
                continue
            try:
                await self._answer(asked)
                well = True
            except Exception as error:  # whatever it is, those who wait are not to be left alone
                if well:
                    fault = not isinstance(error, PacelineError)
                    log.warning("cannot look at jobs that somebody waits for: %s", error, exc_info=fault)
                well = False
                await asyncio.sleep(DEAF_SECONDS)
                self._look_at(asked)

    async def _answer(self, jobs: list[JobId]) -> None:
        untold = []
        for row in await self._database.rows(AWAIT, jobs):
            if row["state"] is None:
                untold.append(JobId(row["id"]))
                continue
            result = None if row["result"] is None else decode(row["result"])
            outcome = Outcome(row["state"], result, row["error"], row["cause"])
            for future in self._waiting.get(JobId(row["id"]), ()):
                if not future.done():
                    future.set_result(outcome)
        if untold:
            asyncio.get_running_loop().call_later(DEAF_SECONDS, self._look_at, untold)
