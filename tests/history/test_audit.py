"""The record is in the order of the commits: all else that the checker says rests on that."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from history import audit
from history.events import JobChanged
from paceline.testing import PostgresServer
from support.pg import migrated_template, one_server

ENQUEUE = "SELECT id FROM paceline.enqueue('builds', ARRAY[$1::text], ARRAY['{\"n\": 7}'::jsonb])"


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """One server is enough here."""
    return one_server(tmp_path_factory)


@pytest.fixture(scope="session")
def template(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    return migrated_template(tmp_path_factory, postgres)


@pytest.fixture
async def url(postgres: PostgresServer, template: str) -> AsyncIterator[str]:
    async with postgres.database(template) as made:
        yield made


async def test_who_writes_first_and_commits_last_comes_last(url: str) -> None:
    first, second = await asyncpg.connect(url), await asyncpg.connect(url)
    try:
        await audit.install(first)
        await first.fetchval(ENQUEUE, "mail")  # makes pool and lane, which others would wait for
        await first.execute("BEGIN")
        early = await first.fetchval(ENQUEUE, "mail")
        late = await second.fetchval(ENQUEUE, "mail")
        await first.execute("COMMIT")
        history = await audit.read(first)
    finally:
        first.terminate()
        second.terminate()
    jobs = [event for event in history.events if isinstance(event, JobChanged)]
    assert [event.job for event in jobs[1:]] == [late, early]
    assert jobs[1].order[1] > jobs[2].order[1], "the order of writing is the other way round"
    assert jobs[1].at > jobs[2].at
    assert jobs[1].committed < jobs[2].committed
    assert {event.new.n for event in jobs if event.new} == {7}


async def test_what_is_rolled_back_never_happened(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await audit.install(connection)
        await connection.execute("BEGIN")
        await connection.fetchval(ENQUEUE, "mail")
        await connection.execute("ROLLBACK")
        kept = await connection.fetchval(ENQUEUE, "mail")
        history = await audit.read(connection)
    finally:
        connection.terminate()
    assert [event.job for event in history.changes()] == [kept]
