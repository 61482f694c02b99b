"""The application of runners in pods: a job that is held until its runner dies, and one that is over at once."""

import asyncio
from typing import Final

from pydantic import JsonValue

from paceline import JobInfo, Jobs, Next

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
