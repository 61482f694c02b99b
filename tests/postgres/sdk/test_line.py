"""A line hears what it listens for, and knows when it cannot."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from paceline.database import Database
from paceline.line import Line
from paceline.testing import PostgresServer
from support.bouncer import BouncedServer


@pytest.fixture
async def line(migrated: str) -> AsyncIterator[Line]:
    opened = await Line.open(migrated)
    yield opened
    opened.close()


async def test_whether_it_can_hear_is_found_out_although_nobody_has_said_what_is_between(
    postgres: PostgresServer, line: Line
) -> None:
    for _ in range(3):
        assert await line.listen("news", lambda: None) is not isinstance(postgres, BouncedServer)


@pytest.mark.needs_session("LISTEN gives neither a message nor an error there")
async def test_it_hears_what_others_say(line: Line, database: Database) -> None:
    heard = asyncio.Event()
    assert await line.listen("news", heard.set)
    await database.value("SELECT pg_notify('news', '')")
    await asyncio.wait_for(heard.wait(), 30)
