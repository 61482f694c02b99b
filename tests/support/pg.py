"""The types of the database fixtures, for tests that name them, and a server for tests outside tests/postgres."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Protocol, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from paceline.claims import Incarnation
from paceline.database import Database
from paceline.migrate import migrate
from paceline.testing import PostgresServer
from support.servers import server, versions
from support.shared import shared

Connect: TypeAlias = "Callable[[], Awaitable[asyncpg.Connection[asyncpg.Record]]]"
Tick: TypeAlias = Callable[[], Awaitable[None]]
Expire: TypeAlias = Callable[[Incarnation], Awaitable[None]]


class Register(Protocol):
    """Makes a runner of a pool."""

    async def __call__(
        self,
        name: str = "r1",
        *,
        pool: str = "builds",
        kinds: tuple[str, ...] = ("*",),
        tags: tuple[str, ...] = (),
        group: str | None = None,
        external: bool = True,
        lease: timedelta = timedelta(seconds=30),
    ) -> Incarnation:
        """Register it."""


STEP = "SELECT verdict, ids FROM paceline.step($1, $2)"
PATIENCE = 50.0
"""Seconds for other sessions to come to something."""


async def waits_for_a_lock(watcher: "asyncpg.Connection[asyncpg.Record]", waiting: int) -> None:
    """Return when the session with that process id waits for a lock; fail if it never does."""
    end = time.monotonic() + PATIENCE
    while not await watcher.fetchval("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1", waiting):
        assert time.monotonic() < end, "the other session never waited for a lock"
        await asyncio.sleep(0.01)


async def behind(
    first: "asyncpg.Connection[asyncpg.Record]",
    watcher: "asyncpg.Connection[asyncpg.Record]",
    second: "asyncpg.Connection[asyncpg.Record]",
    sql: str,
    *args: object,
) -> "list[asyncpg.Record]":
    """Run a statement that must wait for the open transaction of `first`, then commit that one."""
    task = asyncio.create_task(second.fetch(sql, *args))
    await waits_for_a_lock(watcher, second.get_server_pid())
    await first.execute("COMMIT")
    return await task


async def everybody_is_done(database: Database) -> None:
    """Return when all transactions that run now are over, those of other tests on the same server too.

    What waits for that (low-water marks, lanes out of use) may then be expected at the next tick.
    """
    newest = await database.value("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
    end = time.monotonic() + PATIENCE
    while not await database.value("SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8", newest):
        assert time.monotonic() < end, "some transaction on the server never ends"
        await asyncio.sleep(0.01)


def one_server(factory: pytest.TempPathFactory) -> PostgresServer:
    """The server that `postgres` of tests/conftest.py would give first, for fixtures that cannot have parameters."""
    return server(factory, next(iter(versions())))


def migrated_template(factory: pytest.TempPathFactory, server: PostgresServer) -> str:
    """The name of a database with our schema, made once on each server for the whole run."""

    def make(_: int) -> tuple[object, dict[str, str]]:
        return None, {"name": asyncio.run(server.template(f"paceline_{secrets.token_hex(4)}", migrate))}

    return shared(factory, f"template-{urlsplit(server.url).port}", make)["name"]


class LoginUrl(Protocol):
    """Makes a login of its own, as a URL: `await login_url("runner", "builds")`, or several roles by name."""

    async def __call__(self, role: str | None = None, pool: str | None = None, **roles: str | None) -> str:
        """No role at all is possible; no pool means every pool."""


@contextlib.asynccontextmanager
async def logins(database: Database, url: str) -> AsyncIterator[LoginUrl]:
    """Roles are shared by all databases of a server, so each is new and dropped again."""
    names: list[str] = []

    async def make(role: str | None = None, pool: str | None = None, **roles: str | None) -> str:
        name, password = f"l_{secrets.token_hex(6)}", secrets.token_hex(8)
        await database.value(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
        names.append(name)
        for each, bound in {**roles, **({role: pool} if role else {})}.items():
            await database.value("SELECT paceline.grant_login($1, $2, $3)", name, each, bound)
        parts = urlsplit(url)
        return urlunsplit(parts._replace(netloc=f"{name}:{password}@{parts.hostname}:{parts.port}"))

    yield make
    for name in names:
        await database.value(f"DROP ROLE {name}")


class Login(Protocol):
    """The same, connected."""

    async def __call__(self, role: str | None = None, pool: str | None = None, **roles: str | None) -> Database:
        """Connect as it."""
