"""Runners and producers of schema version 1 keep working on every later schema."""

from typing import TYPE_CHECKING

import asyncpg
import pytest

from compat.calls_1 import CALLS, Call, Kept
from paceline.migrate import migrate

if TYPE_CHECKING:
    from asyncpg import Connection, Record


@pytest.mark.parametrize("version", [1, None], ids=["version 1", "newest"])
async def test_every_call_is_answered_as_it_always_was(empty_database: str, version: int | None) -> None:
    await migrate(empty_database, to=version)
    connection = await asyncpg.connect(empty_database)
    kept: dict[str, object] = {}
    for name, call in CALLS.items():
        await _make(connection, name, call, kept)
    ended = await connection.fetch("SELECT id, outcome FROM paceline.history ORDER BY id")
    assert [tuple(row) for row in ended] == [(kept["a"], b"d"), (kept["c"], b"c"), (kept["d"], b"c"), (kept["e"], b"c")]
    assert await connection.fetchval("SELECT result FROM paceline.history WHERE id = $1", kept["a"]) == '{"ok": true}'
    assert await connection.fetchval("SELECT count(*) FROM paceline.job") == 0
    await connection.close()


async def _make(connection: "Connection[Record]", name: str, call: Call, kept: dict[str, object]) -> None:
    rows = await connection.fetch(call.sql, *(_filled(each, kept) for each in call.args))
    kept |= {key: rows[place][column] for key, (place, column) in call.keep.items()}
    found = [{column: row[column] for column in wanted} for row, wanted in zip(rows, call.rows, strict=True)]
    assert (name, found) == (name, [{key: _filled(value, kept) for key, value in row.items()} for row in call.rows])


def _filled(value: object, kept: dict[str, object]) -> object:
    if isinstance(value, list):
        return [_filled(each, kept) for each in value]
    return kept[value.name] if isinstance(value, Kept) else value


async def test_every_function_that_version_1_gave_to_logins_is_called(empty_database: str) -> None:
    await migrate(empty_database, to=1)
    connection = await asyncpg.connect(empty_database)
    functions = await connection.fetch(
        "SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'paceline'::regnamespace AND p.prosecdef"
    )
    await connection.close()
    texts = "".join(call.sql for call in CALLS.values())
    assert [row["proname"] for row in functions if f"paceline.{row['proname']}(" not in texts] == []
