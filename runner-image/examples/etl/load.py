"""Begin to copy all tables of some sources, from their first row: python load.py SOURCE..."""

import asyncio
import os
import sys
from typing import get_args

import asyncpg

from jobs import POOL, Slice, Table, slice_of
from paceline import Queue

TABLES = """
CREATE TABLE IF NOT EXISTS etl_position (
    source text, name text, last_id bigint NOT NULL, fence bigint NOT NULL DEFAULT 0, PRIMARY KEY (source, name)
);
CREATE TABLE IF NOT EXISTS landed (
    source text, name text, id bigint, content jsonb NOT NULL, job bigint NOT NULL, fence bigint NOT NULL,
    PRIMARY KEY (source, name, id)
)"""
# the fence stays: a slice of an earlier load, frozen until now, must not move the new one
BEGIN = """
INSERT INTO etl_position (source, name, last_id) VALUES ($1, $2, 0)
ON CONFLICT (source, name) DO UPDATE SET last_id = 0"""


async def load(url: str, sources: list[str]) -> int:
    """How many tables there are to copy; positions and first slices are there together, or not at all."""
    pieces = [Slice(source=source, table=table) for source in sources for table in get_args(Table)]
    queue = await Queue.connect(url, POOL, connections=1)
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(TABLES)
        async with connection.transaction():
            await connection.executemany(BEGIN, [(piece.source, piece.table) for piece in pieces])
            await queue.enqueue_many([slice_of(piece) for piece in pieces], connection=connection)
    finally:
        await connection.close()
        await queue.close()
    return len(pieces)


if __name__ == "__main__":
    print(asyncio.run(load(os.environ["PACELINE_DATABASE_URL"], sys.argv[1:])), "tables are on their way")
