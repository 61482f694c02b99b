"""What a call touches of each table, counted by PostgreSQL itself while the call runs."""

import re
from collections import Counter
from collections.abc import Sequence

import asyncpg

from postgres.plans.hot import GROWING, SMALL, Hot

WARM = 6
"""plpgsql makes five plans for the values at hand, then may settle for one that fits all: that one is judged."""

READ = """
SELECT relname AS name, coalesce(seq_tup_read, 0) AS scanned, coalesce(idx_tup_fetch, 0) AS fetched
  FROM pg_stat_xact_user_tables WHERE schemaname = 'paceline'"""
_DAY = re.compile(r"_\d{8}$")


class Touched:
    """Rows by table: all that were touched, and those of them that a sequential scan read."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self.scanned: Counter[str] = Counter()

    def add(self, read: "Sequence[asyncpg.Record]", sign: int) -> None:
        """Count a reading in, or (-1) out. The days of history and of attempts are one table each."""
        for table in read:
            name = _DAY.sub("", table["name"])
            self.rows[name] += sign * (table["scanned"] + table["fetched"])
            self.scanned[name] += sign * table["scanned"]

    def beyond(self, hot: Hot) -> list[str]:
        """A line for each table of which more was touched than the call may."""
        said = []
        for name, rows in sorted(self.rows.items()):
            allowed = hot.most.get(name, 0 if name in GROWING else SMALL)
            if rows > allowed:
                said.append(f"{rows} rows of {name}, {allowed} allowed")
            if name in GROWING and self.scanned[name]:
                said.append(f"{self.scanned[name]} rows of {name} by a sequential scan")
        return said


async def touched(connection: "asyncpg.Connection[asyncpg.Record]", hot: Hot) -> Touched:
    """Make the call often enough for its plans to settle, undo it each time, and count the last."""
    for statement in hot.given:
        await connection.execute(statement)
    args = tuple(await connection.fetchrow(hot.args) or ()) if hot.args else ()
    for _ in range(WARM):
        undone = connection.transaction()
        await undone.start()
        await connection.fetchval(hot.call, *args)
        await undone.rollback()
    found = Touched()
    found.add(await connection.fetch(READ), -1)
    answer = await connection.fetchval(hot.call, *args)
    found.add(await connection.fetch(READ), 1)
    assert answer == hot.answer, "the call did not do what it was called for"
    return found
