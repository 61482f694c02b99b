"""Health names what holds vacuum back, and never fails for what it may not see."""

import secrets
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from paceline.database import Database
from paceline.errors import NotAllowedError
from paceline.migrate import migrate
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.testing import PostgresServer
from support.pg import Connect, Tick

if TYPE_CHECKING:
    from support.pg import Login


async def test_a_session_that_holds_a_snapshot_is_named(queue: Queue, reader: Reader, connect: Connect) -> None:
    await queue.enqueue("mail")
    session = await connect()
    await session.execute("SET application_name = 'a long report'")
    async with session.transaction(isolation="repeatable_read"):
        await session.execute("SELECT count(*) FROM paceline.job")
        held = [each for each in (await reader.health(0)).holders if each.application == "a long report"]
        assert [(each.holder, each.pid, each.login) for each in held] == [
            ("session", session.get_server_pid(), await queue.database.value("SELECT session_user"))
        ]
        assert held[0].age_seconds is not None
        assert 0 <= held[0].age_seconds < 60
        assert (await reader.health(3600)).holders == ()
    assert not [each for each in (await reader.health(0)).holders if each.application == "a long report"]


async def test_a_prepared_transaction_that_nobody_ends_is_named() -> None:
    with PostgresServer.start(settings={"max_prepared_transactions": "2"}) as server:
        async with server.database() as url:
            await migrate(url)
            async with await Database.open(url, size=1) as opened:
                async with opened.connection() as connection:
                    await connection.execute("BEGIN")
                    await connection.execute("SELECT pg_current_xact_id()")
                    await connection.execute("PREPARE TRANSACTION 'forgotten'")
                (held,) = (await Reader(opened).health(0)).holders
                assert (held.holder, held.name) == ("prepared", "forgotten")
                await opened.rows("ROLLBACK PREPARED 'forgotten'")
                assert (await Reader(opened).health(0)).holders == ()


async def test_dead_rows_partitions_and_housekeeping_are_told(
    queue: Queue, reader: Reader, connect: Connect, tick: Tick
) -> None:
    assert (await reader.health()).tick_overdue_seconds is None
    await tick()
    await queue.database.value("UPDATE paceline.tick SET next_at = next_at - interval '90 s'")
    for _ in range(5):
        await queue.cancel((await queue.enqueue("mail")).id)
    await (await connect()).execute("VACUUM ANALYZE paceline.job")
    await queue.database.value("UPDATE paceline.tick SET history_until = '-infinity'")
    await queue.cancel((await queue.enqueue("mail")).id)
    seen = await reader.health()
    assert seen.tick_overdue_seconds == pytest.approx(90, abs=20)
    assert seen.last_vacuum is not None
    assert seen.dead_tuples is not None
    assert (seen.partition_days, seen.history_late) == (0, 1)
    await queue.database.value("SELECT paceline.make_partitions()")
    assert (await reader.health()).partition_days >= 7


async def test_who_may_ask(login: "Login", queue: Queue) -> None:
    await queue.enqueue("mail")
    for role in ("reader", "operator", "gateway"):
        assert (await Reader(await login(role, "builds")).health()).history_late == 0
    for other in ("producer", "runner", None):
        with pytest.raises(NotAllowedError):
            await Reader(await login(other)).health()


async def test_an_owner_without_privileges_sees_what_is_visible(empty_database: str) -> None:
    """The usual case with a hosted PostgreSQL: the schema belongs to an ordinary role."""
    name, password = f"o_{secrets.token_hex(6)}", secrets.token_hex(8)
    admin = await asyncpg.connect(empty_database, statement_cache_size=0)
    await admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
    await admin.execute(f'GRANT CREATE ON DATABASE "{await admin.fetchval("SELECT current_database()")}" TO {name}')
    parts = urlsplit(empty_database)
    url = urlunsplit(parts._replace(netloc=f"{name}:{password}@{parts.hostname}:{parts.port}"))
    try:
        await migrate(url)
        async with await Database.open(url, size=1) as owner, admin.transaction(isolation="repeatable_read"):
            pid = await admin.fetchval("SELECT pg_backend_pid() FROM (SELECT count(*) FROM paceline.job) held")
            await owner.rows("DO 'BEGIN FOR n IN 1..1100 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END'")
            health = await Reader(owner).health()
        (held,) = health.holders
        assert (held.pid, held.age_seconds) == (pid, None)
        assert held.transactions is not None
        assert held.transactions >= 1000
        assert health.partition_days > 7
    finally:
        await admin.execute(f"DROP OWNED BY {name} CASCADE")
        await admin.execute(f"DROP ROLE {name}")
        await admin.close()
