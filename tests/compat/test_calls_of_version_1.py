"""Runners and producers of schema version 1 keep working on every later schema."""

import asyncpg
import pytest

from compat.calls_1 import CALLS
from compat.replay import functions_for_logins, not_called, replay
from paceline.migrate import migrate


@pytest.mark.parametrize("version", [1, None], ids=["version 1", "newest"])
async def test_every_call_is_answered_as_it_always_was(empty_database: str, version: int | None) -> None:
    await migrate(empty_database, to=version)
    connection = await asyncpg.connect(empty_database)
    kept = await replay(connection, CALLS)
    ended = await connection.fetch("SELECT id, outcome FROM paceline.history ORDER BY id")
    assert [tuple(row) for row in ended] == [(kept["a"], b"d"), (kept["c"], b"c"), (kept["d"], b"c"), (kept["e"], b"c")]
    assert await connection.fetchval("SELECT result FROM paceline.history WHERE id = $1", kept["a"]) == '{"ok": true}'
    assert await connection.fetchval("SELECT count(*) FROM paceline.job") == 0
    await connection.close()


async def test_every_function_that_version_1_gave_to_logins_is_called(empty_database: str) -> None:
    await migrate(empty_database, to=1)
    assert not_called(await functions_for_logins(empty_database), CALLS) == []
