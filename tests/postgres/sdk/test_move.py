"""Connections that are made with another login from some moment on, while the old ones are in use."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import pytest

from paceline.database import Database
from paceline.errors import DatabaseError
from paceline.line import Lines
from support.pg import LoginUrl

pytestmark = pytest.mark.needs_session("PgBouncer keeps a login's connections for itself")
HELD = "SELECT count(*) FROM pg_stat_activity WHERE usename = $1"
WHO = "SELECT session_user::text"


@pytest.fixture
async def pair(login_url: LoginUrl) -> tuple[str, str]:
    return await login_url("gateway"), await login_url("gateway")


@pytest.fixture
async def moving(pair: tuple[str, str]) -> AsyncIterator[Database]:
    """Four connections with the first login, of which nobody uses one."""
    async with await Database.open(pair[0], size=4) as opened:
        async with AsyncExitStack() as stack:
            for _ in range(4):
                await stack.enter_async_context(opened.connection())
        yield opened


def name(url: str) -> str:
    return urlsplit(url).username or ""


async def gone(database: Database, login: str) -> None:
    async with asyncio.timeout(30):
        while await database.value(HELD, login):  # noqa: ASYNC110 -- the database does not say when
            await asyncio.sleep(0.01)


async def test_idle_connections_are_made_anew_and_one_in_use_when_it_comes_back(
    database: Database, moving: Database, pair: tuple[str, str]
) -> None:
    old, new = map(name, pair)
    async with moving.connection() as used:
        await moving.move(pair[1])
        assert await used.fetchval(WHO) == old
        async with asyncio.timeout(30):
            while await database.value(HELD, old) > 1:  # noqa: ASYNC110 -- see above
                await asyncio.sleep(0.01)
    await gone(database, old)
    assert await database.value(HELD, new) == 3
    assert await moving.value(WHO) == new


async def test_a_login_that_does_not_work_changes_nothing(
    database: Database, moving: Database, pair: tuple[str, str]
) -> None:
    with pytest.raises(DatabaseError, match="refuses the login"):
        await moving.move(pair[1].replace(f"{name(pair[1])}:", f"{name(pair[1])}:wrong"))
    assert await database.value(HELD, name(pair[0])) == 4
    assert await moving.value(WHO) == name(pair[0])


async def test_lines_end_and_are_opened_elsewhere_also_one_that_is_on_its_way(
    database: Database, pair: tuple[str, str]
) -> None:
    lines = Lines(pair[0])
    there = await lines.open()
    coming = asyncio.create_task(lines.open())
    await asyncio.sleep(0)  # it has begun
    lines.move(pair[1])
    assert there.closed
    assert (await coming).closed
    line = await lines.open()
    assert await line.value(WHO) == name(pair[1])
    line.close()
    await gone(database, name(pair[0]))
