"""Copy the tables of other people's databases into ours, a slice at a time."""

import os
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Annotated, Literal

import asyncpg
from pydantic import BaseModel, Field, NonNegativeInt

from paceline import Context, Exponential, Jobs, NewJob, Queue

URL = os.environ.get("PACELINE_DATABASE_URL", "")
SOURCE_URL = os.environ.get("ETL_SOURCE_URL", URL)
ROWS = int(os.environ.get("ETL_ROWS", "1000"))
"""How many a slice has: a few seconds of work, so that little is done again when a runner is lost."""
AT_ONCE = 2
"""Slices that one source can bear at the same time, over all runners."""
POOL = "etl"
jobs = Jobs()

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
Table = Literal["customers", "orders", "items"]

# only whoever is where the table stands, and was not overtaken by a later claim, may go on
LOCK = "SELECT true FROM etl_position WHERE source = $1 AND name = $2 AND last_id = $3 AND fence < $4 FOR UPDATE"
MOVE = "UPDATE etl_position SET last_id = $3, fence = $4 WHERE source = $1 AND name = $2"
LAND = """
INSERT INTO landed (source, name, id, content, job, fence) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (source, name, id) DO UPDATE SET content = excluded.content, job = excluded.job, fence = excluded.fence
 WHERE landed.fence < excluded.fence"""
CHUNK = 200


class Slice(BaseModel):
    """Rows of one table that come after the last that is here."""

    source: Name
    table: Table
    after: NonNegativeInt = 0


class Target:
    """Where the rows go: the database of the queue, so that a slice and its successor are written together."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", queue: Queue) -> None:
        """Both are open."""
        self.pool, self.queue = pool, queue


class Source:
    """Where they come from; here each source is a schema of one database."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        """It is open."""
        self.pool = pool

    async def rows(self, piece: Slice) -> list[asyncpg.Record]:
        """The next slice, as JSON: the landing zone takes any table."""
        place = f'"{piece.source}"."{piece.table}"'  # both were checked
        sql = f"SELECT id, to_jsonb(t)::text AS content FROM {place} t WHERE id > $1 ORDER BY id LIMIT $2"  # noqa: S608
        return await self.pool.fetch(sql, piece.after, ROWS)


@jobs.provider
async def target() -> AsyncIterator[Target]:
    """Opened by the first slice of a runner."""
    queue = await Queue.connect(URL, POOL, connections=1)
    async with asyncpg.create_pool(URL, min_size=1, max_size=8) as pool:
        yield Target(pool, queue)
    await queue.close()


@jobs.provider
async def source() -> AsyncIterator[Source]:
    """The key's limit is for all runners; this one only for one."""
    async with asyncpg.create_pool(SOURCE_URL, min_size=0, max_size=8) as pool:
        yield Source(pool)


@jobs.handler("etl.copy", retry=Exponential(base=timedelta(seconds=5)), timeout=timedelta(minutes=5))
async def copy(piece: Slice, context: Context, source: Source, target: Target) -> dict[str, int]:
    """One slice. A cancel or a timeout ends it where it waits, and the transaction takes back what it has done."""
    async with target.pool.acquire() as connection, connection.transaction():
        here = (piece.source, piece.table)
        if not await connection.fetchval(LOCK, *here, piece.after, context.fence):
            return {"rows": 0}  # it is here: its runner was lost between the commit and the word that it is done
        rows = await source.rows(piece)
        for first in range(0, len(rows), CHUNK):
            chunk = rows[first : first + CHUNK]
            by = (context.job_id, context.fence)
            await connection.executemany(LAND, [(*here, row["id"], row["content"], *by) for row in chunk])
            context.progress({"rows": first + len(chunk), "of": len(rows)})
        if rows:
            last = rows[-1]["id"]
            await connection.execute(MOVE, *here, last, context.fence)
            await target.queue.enqueue(slice_of(piece.model_copy(update={"after": last})), connection=connection)
        return {"rows": len(rows)}


def slice_of(piece: Slice) -> NewJob:
    """The job of a slice; all slices of a source share its key."""
    return jobs.job(
        "etl.copy",
        piece,
        key=f"source/{piece.source}",
        key_limit=AT_ONCE,
        dedupe=f"{piece.source}.{piece.table}/{piece.after}",
    )
