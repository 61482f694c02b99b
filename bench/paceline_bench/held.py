"""The application of runners in pods: jobs that are held, take a while, fail once, or are over at once."""

import asyncio
from datetime import timedelta
from typing import Final

from pydantic import JsonValue

from paceline import Context, Fixed, JobInfo, Jobs, Next

FOR_EVER: Final = 3600.0
jobs = Jobs()


@jobs.middleware
async def held_once(call: Next, job: JobInfo) -> object:
    """Be held by the first runner; the one that gets it after that one's death has nothing to do."""
    if job.kind == "hold" and job.losses == 0:
        await asyncio.sleep(FOR_EVER)
    return await call()


@jobs.handler("noop")
@jobs.handler("hold")
async def noop(_: JsonValue) -> None:
    """Do nothing."""


@jobs.handler("nap")
async def nap(seconds: float) -> None:
    """Take a while."""
    await asyncio.sleep(seconds)


@jobs.handler("flaky", retry=Fixed(timedelta(seconds=1)))
async def flaky(seconds: float, context: Context) -> None:
    """Fail at the first try."""
    await asyncio.sleep(seconds)
    if not context.tries:
        raise RuntimeError("as it was meant to")
