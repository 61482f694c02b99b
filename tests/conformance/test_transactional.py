"""What the queue in a transaction promises besides: no trace, no poison, and the caller's own data beside the jobs."""

import asyncio
import inspect

import pytest

from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.errors import DatabaseError, InvalidInputError
from paceline.job import NewJob
from paceline.testing import transactional, transactional_queue
from paceline.testing.transactional import OneTransaction

ROWS = """
SELECT (SELECT count(*) FROM paceline.job), (SELECT count(*) FROM paceline.pool), (SELECT count(*) FROM paceline.lane),
       (SELECT count(*) FROM paceline.key), (SELECT count(*) FROM paceline.runner),
       (SELECT count(*) FROM paceline.knock)
"""


async def test_nothing_is_left_behind(migrated: str) -> None:
    async with transactional_queue(migrated, "builds") as queue:
        await queue.enqueue_many([NewJob(kind="mail", key="k"), NewJob(kind="report")])
        runner = await Incarnation.register(queue.database, Registration(name="r", pool="builds", kinds=("*",)))
        assert len((await runner.step(9)).jobs) == 2
        assert await queue.connection.fetchval("SELECT count(*) FROM paceline.job WHERE state = 'x'") == 2
    async with await Database.open(migrated) as database:
        assert tuple((await database.rows(ROWS))[0]) == (0, 0, 0, 0, 0, 0)


async def test_nothing_is_left_behind_by_a_test_that_fails(migrated: str) -> None:
    async def failing() -> None:
        async with transactional_queue(migrated) as queue:
            await queue.enqueue("mail")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await failing()
    async with await Database.open(migrated) as database:
        assert await database.value("SELECT count(*) FROM paceline.job") == 0


async def test_an_error_does_not_poison_what_comes_after(migrated: str) -> None:
    async with transactional_queue(migrated) as queue:
        first = await queue.enqueue("mail")
        with pytest.raises(InvalidInputError, match='pool "Not A Name" is not a name'):
            await queue.beside("Not A Name").enqueue("mail")
        with pytest.raises(InvalidInputError, match="division by zero"):
            async with queue.database.connection() as connection:
                await connection.execute("SELECT 1 / 0")
        assert await queue.cancel(first.id) == "cancelled"


async def test_an_error_of_the_callers_own_undoes_nothing(migrated: str) -> None:
    async def failing(database: Database) -> None:
        async with database.connection() as connection:
            await connection.execute("CREATE TABLE mine (id integer)")
            raise KeyError

    async with transactional_queue(migrated) as queue:
        with pytest.raises(KeyError):
            await failing(queue.database)
        assert await queue.connection.fetchval("SELECT to_regclass('mine') IS NOT NULL")


async def test_own_data_and_jobs_share_the_transaction(migrated: str) -> None:
    async with transactional_queue(migrated) as queue:
        await queue.connection.execute("CREATE TABLE mine (id integer)")
        async with queue.connection.transaction():
            await queue.connection.execute("INSERT INTO mine VALUES (1)")
            kept = await queue.enqueue("mail", connection=queue.connection)
        undone = queue.connection.transaction()
        await undone.start()
        gone = await queue.enqueue("mail", connection=queue.connection)
        await undone.rollback()
        assert await queue.cancel(kept.id) == "cancelled"
        assert await queue.cancel(gone.id) == "unknown"


async def test_tasks_take_turns_on_the_one_connection_and_one_may_ask_again_inside(migrated: str) -> None:
    async with transactional_queue(migrated) as queue:
        made = await asyncio.gather(*[queue.enqueue("mail", number) for number in range(5)])
        assert len({each.id for each in made}) == 5
        async with queue.database.connection() as outer:
            assert (await queue.enqueue("mail")).created
            assert await outer.fetchval("SELECT count(*) FROM paceline.job") == 6


async def test_a_call_that_is_broken_off_leaves_the_transaction_usable(migrated: str) -> None:
    async with transactional_queue(migrated) as queue:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(queue.database.value("SELECT pg_sleep(30)"), 0.2)
        assert (await queue.enqueue("mail")).created


async def test_housekeeping_can_be_had_at_any_time(migrated: str) -> None:
    async with transactional_queue(migrated) as queue:
        assert await queue.tick()
        made = await queue.enqueue(NewJob(kind="mail", key="k"))
        await queue.tick_now()
        assert await queue.connection.fetchval("SELECT state = 'r' FROM paceline.job WHERE id = $1", made.id)


async def test_a_second_one_on_the_database_waits_its_turn_and_then_says_so(
    migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactional, "PATIENCE", "100ms")
    async with transactional_queue(migrated):
        with pytest.raises(DatabaseError, match="another transactional queue has been open on the database"):
            async with transactional_queue(migrated):
                pytest.fail("two at once")
    async with transactional_queue(migrated) as after:
        assert (await after.enqueue("mail")).created


async def test_a_connection_that_breaks_is_told_and_not_hidden_by_the_clean_up(migrated: str) -> None:
    """Again and again: the news may come between or during statements, and asyncpg tells each differently."""

    async def broken(other: Database) -> None:
        async with transactional_queue(migrated) as queue:
            pid = queue.connection.get_server_pid()
            kill = asyncio.create_task(other.value("SELECT pg_terminate_backend($1)", pid))
            try:
                for _ in range(1000):
                    await queue.enqueue("mail")
            finally:
                await kill

    async with await Database.open(migrated) as other:
        for _ in range(10):
            with pytest.raises(DatabaseError, match=r"cannot reach the database|terminating connection"):
                await broken(other)


async def test_a_server_that_is_away_is_told(migrated: str) -> None:
    with pytest.raises(DatabaseError, match="cannot reach the database 127"):
        async with transactional_queue("postgresql://nobody@127.0.0.1:1/x"):
            pytest.fail("connected to nothing")


async def test_it_stays_where_it_is(migrated: str) -> None:
    async with transactional_queue(migrated) as queue:
        with pytest.raises(InvalidInputError, match="cannot go to another database"):
            await queue.database.move(migrated)


def test_every_method_of_a_database_is_written_anew() -> None:
    """One that is inherited would look for a pool of connections that is not there."""
    inherited = {"open", "__aenter__", "__aexit__"}
    methods = {name for name, value in vars(Database).items() if inspect.isroutine(value)} - inherited - {"__init__"}
    assert methods <= set(vars(OneTransaction))
