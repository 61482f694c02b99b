"""Migrating: forward only, all or nothing, by whoever comes first, and under work that goes on."""

import asyncio

import asyncpg
import pytest

from paceline.claims import Finished, Incarnation, Registration
from paceline.database import Database
from paceline.errors import DatabaseError
from paceline.job import NewJob
from paceline.migrate import SchemaBusyError, SchemaChangedError, SchemaTooNewError, migrate, migrations
from paceline.queue import Queue

NEWEST = [each.version for each in migrations()]
WAITS_FOR_A_LOCK = """\
SELECT count(*) > 0 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
 WHERE d.datname = current_database() AND NOT l.granted AND l.relation = $1::regclass"""


async def test_live_jobs_are_all_there_after_a_migration(empty_database: str) -> None:
    await migrate(empty_database, to=1)
    async with await Database.open(empty_database) as database:
        queue = Queue(database, "builds")
        await queue.enqueue_many([NewJob(kind="mail", key="k" if n % 5 == 0 else None) for n in range(50)])
        runner = await Incarnation.register(database, Registration(name="r1", pool="builds", kinds=("*",)))
        first, *_ = jobs = (await runner.step(10)).jobs
        await runner.step(0, [Finished(first)])
        before = await _everything(database)
        assert [each.version for each in await migrate(empty_database)] == NEWEST[1:]
        after = await _everything(database)  # with columns that are new
        assert [{name: new[name] for name in old} for old, new in zip(before, after, strict=True)] == before
        assert not (await runner.step(0, [Finished(job) for job in jobs[1:]])).refused
        assert await database.value("SELECT kinds FROM paceline.group_kinds") == ["*"]


async def _everything(database: Database) -> list[dict[str, object]]:
    rows = await database.rows("SELECT * FROM paceline.job ORDER BY id")
    rows += await database.rows("SELECT * FROM paceline.history ORDER BY id")
    return [dict(row) for row in rows]


async def test_a_runner_at_work_and_a_migration_do_not_lock_each_other_out(empty_database: str) -> None:
    """A call that holds the registrations and then wants the groups meets a migration that wants both."""
    await migrate(empty_database, to=1)
    async with await Database.open(empty_database) as database, database.connection() as working:
        await Queue(database, "builds").enqueue("mail")
        runner = await Incarnation.register(database, Registration(name="r1", pool="builds", kinds=("*",)))
        async with working.transaction():
            await working.execute("UPDATE paceline.incarnation SET slots = 2")
            migrating = asyncio.create_task(migrate(empty_database))
            while not await database.value(WAITS_FOR_A_LOCK, "paceline.incarnation"):
                pass
            await working.execute("UPDATE paceline.runner_group SET slots = 2")
        assert [each.version for each in await migrating] == NEWEST[1:]
        assert len((await runner.step(1)).jobs) == 1


async def test_it_lets_go_of_what_somebody_at_work_wants(empty_database: str) -> None:
    """Who reads jobs and then the flow meets a migration that has changed the flow and wants the jobs."""
    await migrate(empty_database, to=5)
    async with await Database.open(empty_database) as database, database.connection() as working:
        async with working.transaction():
            await working.execute("SELECT FROM paceline.job")
            migrating = asyncio.create_task(migrate(empty_database))
            while not await database.value(WAITS_FOR_A_LOCK, "paceline.job"):
                pass
            assert await working.fetch("SELECT FROM paceline.flow") == []
            assert not migrating.done()
        assert [each.version for each in await migrating] == NEWEST[5:]


async def test_it_gives_up_where_the_tables_are_never_free(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline.migrate.PATIENCE", 0.1)
    await migrate(empty_database, to=6)
    async with await Database.open(empty_database) as database, database.connection() as working:
        async with working.transaction():
            await working.execute("SELECT FROM paceline.job")
            with pytest.raises(SchemaBusyError, match=r"pg_stat_activity .* and migrate again"):
                await migrate(empty_database)
        assert [each.version for each in await migrate(empty_database)] == NEWEST[6:]


async def test_of_two_at_once_both_succeed_and_one_does_the_work(empty_database: str) -> None:
    done = await asyncio.gather(migrate(empty_database), migrate(empty_database), migrate(empty_database))
    assert sorted([each.version for each in applied] for applied in done) == [[], [], NEWEST]


async def test_a_second_time_nothing_is_done(empty_database: str) -> None:
    assert [each.version for each in await migrate(empty_database)] == NEWEST
    assert await migrate(empty_database) == []


async def test_the_url_may_say_that_pgbouncer_stands_before_it(empty_database: str) -> None:
    assert [each.version for each in await migrate(f"{empty_database}?pgbouncer=1")] == NEWEST


async def test_a_database_that_does_not_answer_is_an_error_of_ours_without_the_password() -> None:
    with pytest.raises(DatabaseError, match=r"cannot reach the database 127\.0\.0\.1:1/x") as caught:
        await migrate("postgresql://ann:secret@127.0.0.1:1/x")
    assert "secret" not in str(caught.value)


async def test_step_by_step_is_the_same_as_at_once(empty_database: str) -> None:
    for version in NEWEST:
        assert [each.version for each in await migrate(empty_database, to=version)] == [version]
    connection = await asyncpg.connect(empty_database, statement_cache_size=0)
    assert [row[0] for row in await connection.fetch("SELECT version FROM paceline.migration ORDER BY 1")] == NEWEST
    await connection.close()


async def test_a_schema_that_is_newer_or_another_is_refused(empty_database: str) -> None:
    await migrate(empty_database)
    connection = await asyncpg.connect(empty_database, statement_cache_size=0)
    await connection.execute("INSERT INTO paceline.migration (version, name, digest) VALUES (99, 'later', 'x')")
    with pytest.raises(
        SchemaTooNewError,
        match=f"has schema version 99, this paceline knows up to {NEWEST[-1]}: install a newer paceline",
    ):
        await migrate(empty_database)
    await connection.execute("DELETE FROM paceline.migration WHERE version = 99")
    await connection.execute("UPDATE paceline.migration SET digest = 'x' WHERE version = 1")
    with pytest.raises(SchemaChangedError, match="version 1 of the database was made by another build"):
        await migrate(empty_database)
    await connection.close()


async def test_a_migration_that_fails_leaves_nothing_behind(empty_database: str) -> None:
    await migrate(empty_database, to=1)
    connection = await asyncpg.connect(empty_database, statement_cache_size=0)
    await connection.execute("CREATE TABLE paceline.sample (in_the_way integer)")
    with pytest.raises(DatabaseError, match=r"sample.* already exists"):
        await migrate(empty_database)
    assert await connection.fetchval("SELECT to_regclass('paceline.group_kinds')") is None
    await connection.execute("DROP TABLE paceline.sample")
    assert [each.version for each in await migrate(empty_database)] == NEWEST[1:]
    await connection.close()
