"""A job commits with the caller's own data, or not at all, whatever driver the caller uses."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg.rows import dict_row

from paceline.database import Database
from paceline.errors import DatabaseError, InvalidInputError, NotAllowedError, PoolFullError, SchemaError
from paceline.job import JobId, NewJob
from paceline.psycopg import enqueue, enqueue_async
from paceline.queue import Queue
from support.pg import Connect, Login

JOBS = [NewJob(kind="mail", payload={"n": 1}), NewJob(kind="mail", payload="ü")]
RICH = NewJob(
    kind="mail", payload={"a": [1, "{}\"'"]}, priority=9, delay=timedelta(seconds=90), expires_in=timedelta(hours=1),
    key="k", key_limit=2, dedupe="d", tags=("a", "b"), tolerations=("gpu",), max_tries=2, max_losses=0,
    timeout=timedelta(seconds=1.5), trace="t",
)  # fmt: skip
MOMENTS = NewJob(
    kind="mail", run_at=datetime(2030, 1, 1, tzinfo=UTC), expires_at=datetime(2031, 1, 1, tzinfo=UTC), payload=None
)
STORED = """\
SELECT payload, priority, run_at, expires_at, dedupe, max_tries, max_losses, timeout_ms, trace, key, lane
  FROM paceline.job ORDER BY id"""


async def count(database: Database) -> tuple[int, int]:
    """Jobs, and rows of the caller's own table."""
    jobs = await database.value("SELECT count(*) FROM paceline.job")
    return jobs, await database.value("SELECT count(*) FROM orders")


@pytest.fixture(autouse=True)
async def orders(database: Database) -> None:
    await database.value("CREATE TABLE orders (id integer)")


@pytest.mark.parametrize(("end", "kept"), [("COMMIT", (2, 1)), ("ROLLBACK", (0, 0))])
async def test_asyncpg(queue: Queue, database: Database, connect: Connect, end: str, kept: tuple[int, int]) -> None:
    connection = await connect()
    await connection.execute("BEGIN; INSERT INTO orders VALUES (7)")
    made = await queue.enqueue_many(JOBS, connection=connection)
    assert [each.created for each in made] == [True, True]
    assert await count(database) == (0, 0)
    await connection.execute(end)
    assert await count(database) == kept


@pytest.mark.parametrize(("end", "kept"), [("COMMIT", (2, 1)), ("ROLLBACK", (0, 0))])
async def test_psycopg(database: Database, migrated: str, end: str, kept: tuple[int, int]) -> None:
    with psycopg.connect(migrated) as connection:
        connection.execute("INSERT INTO orders VALUES (7)")
        made = enqueue(connection, "builds", JOBS)
        assert [each.created for each in made] == [True, True]
        assert await count(database) == (0, 0)
        connection.execute(end)
        assert await count(database) == kept


@pytest.mark.parametrize(("end", "kept"), [("COMMIT", (2, 1)), ("ROLLBACK", (0, 0))])
async def test_async_psycopg(database: Database, migrated: str, end: str, kept: tuple[int, int]) -> None:
    async with await psycopg.AsyncConnection.connect(migrated) as connection:
        await connection.execute("INSERT INTO orders VALUES (7)")
        made = await enqueue_async(connection, "builds", JOBS)
        assert [each.created for each in made] == [True, True]
        assert await count(database) == (0, 0)
        await connection.execute(end)
        assert await count(database) == kept


async def test_a_failed_block_of_the_caller_takes_the_job_with_it(database: Database, migrated: str) -> None:
    def order(connection: psycopg.Connection) -> None:
        with connection.transaction():
            enqueue(connection, "builds", JOBS)
            raise ZeroDivisionError

    with psycopg.connect(migrated) as connection:
        with pytest.raises(ZeroDivisionError):
            order(connection)
        assert not connection.closed
    assert await count(database) == (0, 0)


@pytest.mark.parametrize("job", [RICH, MOMENTS], ids=["spans", "moments"])
async def test_both_drivers_store_the_same(queue: Queue, database: Database, migrated: str, job: NewJob) -> None:
    await queue.enqueue(job)
    (one,) = [dict(row) for row in await database.rows(STORED)]
    await database.value("DELETE FROM paceline.job")
    with psycopg.connect(migrated, autocommit=True) as connection:
        enqueue(connection, "builds", job)
    (two,) = [dict(row) for row in await database.rows(STORED)]
    if job.delay:
        for row in (one, two):
            row["expires_at"] -= row.pop("run_at")
    assert one == two


async def test_jobs_that_differ_in_what_they_say_go_in_one_call(database: Database, migrated: str) -> None:
    with psycopg.connect(migrated, autocommit=True) as connection:
        made = enqueue(connection, "builds", [JOBS[0], RICH, MOMENTS, RICH])
    assert [each.created for each in made] == [True, True, True, False]
    assert made[1].id == made[3].id
    assert (await count(database))[0] == 3


async def test_the_callers_own_settings_of_a_connection_do_not_matter(database: Database, migrated: str) -> None:
    with psycopg.connect(migrated, row_factory=dict_row, cursor_factory=psycopg.ClientCursor) as connection:
        (made,) = enqueue(connection, "builds", JOBS[0])
    assert made.id == JobId(await database.value("SELECT id FROM paceline.job"))


def test_nothing_to_enqueue_asks_nobody(migrated: str) -> None:
    with psycopg.connect(migrated) as connection:
        connection.close()
        assert enqueue(connection, "builds", []) == []


@pytest.mark.needs_session("it makes its session read-only")
async def test_errors_are_the_same_ones_as_with_asyncpg(
    queue: Queue, database: Database, migrated: str, login: Login
) -> None:
    await queue.enqueue("mail")
    await database.value("SELECT paceline.set_pool('builds', p_max_depth => 1)")
    with psycopg.connect(migrated, autocommit=True) as connection:
        with pytest.raises(PoolFullError, match="raise the limit"):
            enqueue(connection, "builds", JOBS)
        with pytest.raises(InvalidInputError, match='pool "Not A Name"'):
            enqueue(connection, "Not A Name", JOBS)
        connection.execute("SET default_transaction_read_only = on")
        with pytest.raises(DatabaseError, match="read-only"):
            enqueue(connection, "new", JOBS)
    reader = await login("reader", "builds")
    async with await psycopg.AsyncConnection.connect(reader.address.url, autocommit=True) as theirs:
        with pytest.raises(NotAllowedError, match="--as producer"):
            await enqueue_async(theirs, "builds", JOBS)


@pytest.mark.needs_session("PgBouncer gives whoever lost a connection between two transactions another one")
async def test_a_connection_that_is_gone_is_told(migrated: str, database: Database) -> None:
    with psycopg.connect(migrated) as connection:
        await database.value("SELECT pg_terminate_backend($1)", connection.info.backend_pid)
        with pytest.raises(DatabaseError, match="terminat"):
            enqueue(connection, "builds", JOBS)
        with pytest.raises(DatabaseError, match="the psycopg connection is closed"):
            enqueue(connection, "builds", JOBS)


async def test_a_database_without_our_schema_is_told(empty_database: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_database) as connection:
        with pytest.raises(SchemaError, match="run: paceline migrate"):
            await enqueue_async(connection, "builds", JOBS)
