"""A primary and its standby, with our tables, and how one waits for them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from operations.servers import DATABASE, Machine, at
from paceline.database import Database
from paceline.migrate import migrate
from paceline.testing import PostgresServer

PATIENCE = 90.0


async def until(database: Database, sql: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await database.value(sql):  # noqa: ASYNC110 -- the database does not say when
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def followed(place: Machine) -> AsyncIterator[tuple[PostgresServer, PostgresServer]]:
    """A primary, and a standby that gets its log as soon as it can."""
    with place.primary() as primary:
        async with await Database.open(primary.url) as root:
            await root.value(f"CREATE DATABASE {DATABASE}")
            await migrate(at(primary))
            standby = place.serve(place.copy(primary, "-R"), primary, {"hot_standby": "on"})
            await until(root, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming')")
        yield primary, standby


async def part(primary: PostgresServer, standby: PostgresServer) -> None:
    """From now on the standby gets nothing; it has all that was written before."""
    async with await Database.open(primary.url) as first, await Database.open(standby.url) as second:
        written = await first.value("SELECT pg_current_wal_insert_lsn()::text")
        await until(second, f"SELECT pg_last_wal_replay_lsn() >= '{written}'")
        await second.value("ALTER SYSTEM SET primary_conninfo = ''")
        await second.value("SELECT pg_reload_conf()")
        await until(first, "SELECT NOT EXISTS (SELECT FROM pg_stat_replication)")
