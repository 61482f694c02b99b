"""Handlers of the end-to-end stories: quick ones, slow ones, and one that takes all memory there is."""

import asyncio
import os

from paceline import Context, Jobs

jobs = Jobs()


@jobs.handler("count")
async def count(number: int, context: Context) -> dict[str, int]:
    """Say what it was given, and with which fence."""
    return {"number": number, "fence": context.fence}


@jobs.handler("nap")
async def nap(seconds: float, context: Context) -> dict[str, int]:
    """Take some time."""
    await asyncio.sleep(seconds)
    return {"fence": context.fence}


@jobs.handler("eat")
async def eat(megabytes: int, context: Context) -> dict[str, int]:
    """Take memory, in a Runner's first pod only: it is killed for it, and the next one does the job."""
    if os.environ["PACELINE_POD_NAME"].endswith("-1"):
        held = bytearray(megabytes * 2**20)
        held[::4096] = b"x" * len(held[::4096])  # touch each page, so that it is really taken
        await asyncio.sleep(60)
    return {"fence": context.fence}
