"""Enqueue on a psycopg 3 connection: the job commits with the caller's own data, or not at all.

    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO orders ...")
        enqueue(connection, "default", NewJob(kind="order.confirm", payload={"order": 7}))

Nothing is committed or rolled back here; that is the caller's.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TypeVar

from paceline.database import translated, unreachable
from paceline.errors import DatabaseError
from paceline.job import Enqueued, JobId, NewJob
from paceline.queue import ENQUEUE, arrays

try:
    import psycopg
    from psycopg.rows import tuple_row
except ImportError as error:
    raise ImportError('paceline.psycopg needs psycopg 3: run pip install "psycopg[binary]"') from error

Row = TypeVar("Row")


def enqueue(connection: psycopg.Connection[Row], pool: str, jobs: NewJob | Sequence[NewJob]) -> list[Enqueued]:
    """Put jobs in, in the transaction that the connection is in: all of them or none."""
    jobs = [jobs] if isinstance(jobs, NewJob) else jobs
    if not jobs:
        return []
    # a raw cursor takes $1 as asyncpg does: both drivers send the same statement
    with _in_our_words(connection), psycopg.RawCursor(connection, row_factory=tuple_row) as cursor:
        return _enqueued(cursor.execute(ENQUEUE, [pool, *arrays(jobs)]).fetchall())


async def enqueue_async(
    connection: psycopg.AsyncConnection[Row], pool: str, jobs: NewJob | Sequence[NewJob]
) -> list[Enqueued]:
    """Put jobs in, in the transaction that the connection is in: all of them or none."""
    jobs = [jobs] if isinstance(jobs, NewJob) else jobs
    if not jobs:
        return []
    with _in_our_words(connection):
        async with psycopg.AsyncRawCursor(connection, row_factory=tuple_row) as cursor:
            await cursor.execute(ENQUEUE, [pool, *arrays(jobs)])
            return _enqueued(await cursor.fetchall())


def _enqueued(rows: Sequence[tuple[int, bool]]) -> list[Enqueued]:
    return [Enqueued(JobId(number), created) for number, created in rows]


@contextlib.contextmanager
def _in_our_words(connection: psycopg.Connection[Row] | psycopg.AsyncConnection[Row]) -> Iterator[None]:
    if connection.closed:
        raise DatabaseError("the psycopg connection is closed: open a new one")
    place = f"{connection.info.host}:{connection.info.port}/{connection.info.dbname}"
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate is None:  # it did not come from the server
            raise unreachable(error, place) from error
        message = error.diag.message_primary or str(error)
        raise translated(error.sqlstate, message, error.diag.message_hint, place) from error
