"""A small write with its commit, ten times a second beside whatever goes on, and how long the database takes for it.

It is a row like a job's, in a table of its own, and says when each was made and how many milliseconds it took.
"""

import asyncio
import os
import time
from typing import Final

import asyncpg
import uvloop

from paceline_bench.systems import BODY
from paceline_bench.workers import URL, told

PAUSE: Final = 0.1
WROTE: Final = "wrote"
TABLE: Final = "CREATE TABLE written (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz, body jsonb)"
WRITE: Final = "INSERT INTO written (at, body) VALUES (clock_timestamp(), $1)"


async def main() -> None:
    """Until it is ended; one that is late does not make up for it."""
    name = {"application_name": "bench"}
    connection = await asyncpg.connect(os.environ[URL], timeout=60, server_settings=name)
    while True:
        began = time.perf_counter()
        await connection.execute(WRITE, BODY)
        told.said(WROTE, time.time(), (time.perf_counter() - began) * 1000)
        await asyncio.sleep(max(0.0, PAUSE - (time.perf_counter() - began)))


if __name__ == "__main__":
    uvloop.run(main())
