"""What queues hold while claims are timed: a thousand jobs ready, a million, a million for tomorrow, 20,000 blocked.

A million rows are made by copying one that was enqueued by the system's own means.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from paceline import NewJob, Queue
from paceline_bench.server import connected
from paceline_bench.systems import NOOP, PAYLOAD, Produce, System, chunks
from paceline_bench.systems.paceline import POOL

if TYPE_CHECKING:
    import asyncpg

COLUMNS = """
SELECT attname FROM pg_attribute
 WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
   AND attidentity = ''
   AND NOT EXISTS (SELECT FROM pg_attrdef d WHERE d.adrelid = attrelid AND d.adnum = attnum
                      AND pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval%')
 ORDER BY attnum"""


async def copy_rows(
    connection: "asyncpg.Connection[asyncpg.Record]", system: System, rows: int, different: Mapping[str, str]
) -> None:
    """So many copies of the newest row, without the triggers that would tell workers of each."""
    own = {**system.copied, **different}
    columns = [row[0] for row in await connection.fetch(COLUMNS, system.table)]
    names = ", ".join(f'"{each}"' for each in columns)
    values = ", ".join(own.get(each, f'o."{each}"') for each in columns)
    async with connection.transaction():
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute(
            f"INSERT INTO {system.table} ({names})"
            f" SELECT {values} FROM (SELECT * FROM {system.table} ORDER BY {system.order} DESC LIMIT 1) o,"
            f" generate_series(1, {rows:d})"
        )


async def fill(url: str, system: System, ready: int, future: int = 0) -> None:
    """A queue with so many jobs that are ready, and so many that come first, tomorrow."""
    await system.install(url)
    async with connected(url) as connection, system.producer(url, NOOP) as produce:
        if future:
            await produce(1)
            await copy_rows(connection, system, future, system.future)
        if ready > 5_000:
            await produce(1)
            await copy_rows(connection, system, ready, {})
        else:
            for size in chunks(ready):
                await produce(size)
        await connection.execute("VACUUM (ANALYZE)")


@asynccontextmanager
async def laned(url: str, _: str, lanes: int) -> AsyncIterator[Produce]:
    """A producer of jobs that take turns over so many kinds."""
    queue = await Queue.connect(url, POOL, connections=1)
    turn = 0

    async def produce(jobs: int) -> None:
        nonlocal turn
        await queue.enqueue_many(
            [NewJob(kind=f"kind-{(turn + each) % lanes}", payload=dict(PAYLOAD)) for each in range(jobs)]
        )
        turn += jobs

    try:
        yield produce
    finally:
        await queue.close()


async def block(url: str, jobs: int) -> None:
    """So many jobs of one key with limit 1, whose permit a runner has that works on."""
    queue = await Queue.connect(url, POOL, connections=1)
    try:
        for size in chunks(jobs):
            job = NewJob(kind=NOOP, payload=dict(PAYLOAD), priority=9, key="one", key_limit=1)
            await queue.enqueue_many([job] * size)
    finally:
        await queue.close()
