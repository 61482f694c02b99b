"""What became of a job, for a caller who waits for it."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from pydantic import JsonValue

from paceline.database import Database
from paceline.errors import PacelineError
from paceline.job import JobId, decode
from paceline.seen import EndState

FIRST_PAUSE: Final = 0.02
LONGEST_PAUSE: Final = 0.5
GROWTH: Final = 1.5


class NotEndedError(PacelineError, TimeoutError):
    """The job had not ended when the time was over; it goes on."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended."""

    state: EndState
    result: JsonValue = None
    error: str | None = None
    cause: str | None = None
    """Of a dead letter, in one word."""


async def outcome(database: Database, job: JobId) -> Outcome | None:
    """How a job ended; None if it has not, or if the login may not read it."""
    rows = await database.rows("SELECT state, result, error, cause FROM paceline.outcome($1)", [job])
    if not rows:
        return None
    row = rows[0]
    result = None if row["result"] is None else decode(row["result"])
    return Outcome(row["state"], result, row["error"], row["cause"])


async def wait(database: Database, job_id: JobId, timeout: timedelta) -> Outcome:  # noqa: ASYNC109 -- a cancel would lose the message
    """Ask until the job has ended: after 20 ms at first, then ever more seldom, at least twice a second."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout.total_seconds()
    pause = FIRST_PAUSE
    while (ended := await outcome(database, job_id)) is None:
        left = deadline - loop.time()
        if left <= 0:
            raise NotEndedError(await _why(database, job_id, timeout.total_seconds()))
        await asyncio.sleep(min(pause, left))
        pause = min(pause * GROWTH, LONGEST_PAUSE)
    return ended


async def _why(database: Database, job: JobId, seconds: float) -> str:
    state = await database.value("SELECT state FROM paceline.job_detail($1)", job)
    if state is None:
        return f"there is no job {job} that this login may read: check the id, and that its enqueue was committed"
    return f"job {job} is still {state} after {seconds:g} s: wait longer, or cancel it"
