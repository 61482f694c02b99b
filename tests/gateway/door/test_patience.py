"""A database that does not answer is not waited for without end: what is done for all must go on when it is back."""

import asyncio
import time

import pytest

from gateway.conftest import until
from gateway.door.conftest import Door
from paceline.database import Database
from paceline.errors import DatabaseError


async def test_a_statement_that_takes_too_long_fails_and_the_next_one_does_not(migrated: str) -> None:
    async with await Database.open(migrated, size=1, answer_seconds=2.0) as database:
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(DatabaseError, match="TimeoutError"):
                await database.value("SELECT pg_sleep(300)")
            assert time.monotonic() - began < 50
            assert await database.value("SELECT 1") == 1


async def test_it_is_so_after_a_move_too(migrated: str) -> None:
    async with await Database.open(migrated, size=1, answer_seconds=2.0) as database:
        await database.move(migrated)
        with pytest.raises(DatabaseError, match="TimeoutError"):
            await database.value("SELECT pg_sleep(20)")


async def test_a_gateway_does_not_wait_for_a_statement_without_end(
    site: Door, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline_gateway.services.ANSWER_SECONDS", 3.0)
    admin = await site.client(await site.start(), await site.tokens.create("ak"))
    async with database.connection() as connection, connection.transaction():
        await connection.execute("LOCK TABLE paceline.runner_group")
        async with asyncio.timeout(60):
            answer = await admin.get("/cluster/nodes")
        assert (answer.status_code, answer.json()["error"]) == (503, "database")

    async def answers() -> bool:
        return (await admin.get("/cluster/nodes")).status_code == 200

    await until(answers)
