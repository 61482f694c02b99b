"""Makes frozen calls one after the other and compares what they answer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import asyncpg

from compat.calls_1 import Call, Kept

if TYPE_CHECKING:
    from asyncpg import Connection, Record

FUNCTIONS = "SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'paceline'::regnamespace AND p.prosecdef"


async def replay(connection: "Connection[Record]", calls: Mapping[str, Call]) -> dict[str, object]:
    """All of them; returns what was kept."""
    kept: dict[str, object] = {}
    for name, call in calls.items():
        await _make(connection, name, call, kept)
    return kept


async def _make(connection: "Connection[Record]", name: str, call: Call, kept: dict[str, object]) -> None:
    rows = await connection.fetch(call.sql, *(_filled(each, kept) for each in call.args))
    kept |= {key: rows[place][column] for key, (place, column) in call.keep.items()}
    found = [{column: row[column] for column in wanted} for row, wanted in zip(rows, call.rows, strict=True)]
    assert (name, found) == (name, [{key: _filled(value, kept) for key, value in row.items()} for row in call.rows])


def _filled(value: object, kept: dict[str, object]) -> object:
    if isinstance(value, list):
        return [_filled(each, kept) for each in value]
    return kept[value.name] if isinstance(value, Kept) else value


async def functions_for_logins(url: str) -> set[str]:
    """What the schema gives to logins."""
    connection = await asyncpg.connect(url)
    found = {row["proname"] for row in await connection.fetch(FUNCTIONS)}
    await connection.close()
    return found


def not_called(functions: set[str], calls: Mapping[str, Call]) -> list[str]:
    """Functions that no frozen call names."""
    texts = "".join(call.sql for call in calls.values())
    return sorted(name for name in functions if f"paceline.{name}(" not in texts)
