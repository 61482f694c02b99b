"""Handlers of the end-to-end stories: quick ones, slow ones, one that waits, and one that takes all memory there is."""

import asyncio
import os

import asyncpg

from paceline import Context, Jobs

jobs = Jobs()


@jobs.handler("count")
async def count(number: int | None, context: Context) -> dict[str, int | None]:
    """Say what it was given, and with which fence."""
    return {"number": number, "fence": context.fence}


@jobs.handler("nap")
async def nap(seconds: float, context: Context) -> dict[str, int]:
    """Take some time."""
    await asyncio.sleep(seconds)
    return {"fence": context.fence}


@jobs.handler("wait")
async def wait(name: str) -> None:
    """Until there is a table of that name."""
    connection = await asyncpg.connect(os.environ["PACELINE_DATABASE_URL"])
    try:
        while not await connection.fetchval("SELECT to_regclass($1)", name):  # noqa: ASYNC110 -- the story makes it
            await asyncio.sleep(0.1)
    finally:
        await connection.close()


@jobs.handler("eat")
async def eat(megabytes: int, context: Context) -> dict[str, int]:
    """Take memory, in a Runner's first pod only: it is killed for it, and the next one does the job."""
    if os.environ["PACELINE_POD_NAME"].endswith("-1"):
        held = bytearray(megabytes * 2**20)
        held[::4096] = b"x" * len(held[::4096])  # touch each page, so that it is really taken
        await asyncio.sleep(60)
    return {"fence": context.fence}
