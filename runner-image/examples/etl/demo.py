"""Other people's tables, to try it with: python demo.py SOURCE..."""

import asyncio
import os
import sys
from typing import get_args

import asyncpg

from jobs import Table

ROWS = int(os.environ.get("DEMO_ROWS", "5000"))


async def make(url: str, sources: list[str]) -> None:
    """A schema for each source, with three tables in it."""
    connection = await asyncpg.connect(url)
    for source in sources:
        await connection.execute(f'CREATE SCHEMA "{source}"')
        for table in get_args(Table):
            await connection.execute(
                f'CREATE TABLE "{source}"."{table}" AS '  # noqa: S608 -- for a throw-away database
                f"SELECT id, '{table}-' || id AS name FROM generate_series(1, {ROWS}) id"
            )
    await connection.close()


if __name__ == "__main__":
    asyncio.run(make(os.environ["PACELINE_DATABASE_URL"], sys.argv[1:]))
