"""Operators of schema version 3 keep working on every later schema."""

import asyncpg
import pytest

from compat.calls_3 import CALLS
from compat.replay import functions_for_logins, not_called, replay
from paceline.migrate import migrate


@pytest.mark.parametrize("version", [3, None], ids=["version 3", "newest"])
async def test_every_call_is_answered_as_it_always_was(empty_database: str, version: int | None) -> None:
    await migrate(empty_database, to=version)
    connection = await asyncpg.connect(empty_database)
    await replay(connection, CALLS)
    await connection.close()


async def test_every_function_that_version_3_gave_to_logins_is_called(empty_database: str) -> None:
    await migrate(empty_database, to=2)
    before = await functions_for_logins(empty_database)
    await migrate(empty_database, to=3)
    assert not_called(await functions_for_logins(empty_database) - before, CALLS) == []
