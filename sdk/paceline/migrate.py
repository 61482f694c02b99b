"""Brings a database to the schema of this version: numbered folders of SQL, forward only, all or nothing.

A folder `sql/NNNN_name/` is one schema version; its files are applied in the order of their names. An advisory lock
makes concurrent calls wait for each other, so that every replica may call this at its start.

Runners and producers work on meanwhile. While a migration waits for a table, all who want that table wait behind it:
so it waits for a moment only, lets go of all that it has, and comes back.
"""

import asyncio
import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import asyncpg

from paceline.database import Address, in_our_words
from paceline.errors import PacelineError

LOCK = 0x7061_6365  # "pace": one number for all who migrate the same database
WAIT: Final = 0.5
"""Seconds for each table; less than the second after which PostgreSQL looks for a deadlock and ends one of two."""
PAUSE: Final = 1.0
PATIENCE: Final = 60.0
"""Seconds until it is given up."""

BOOTSTRAP = """\
CREATE SCHEMA IF NOT EXISTS paceline;
CREATE TABLE IF NOT EXISTS paceline.migration (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    digest     text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
"""


class SchemaTooNewError(PacelineError):
    """The database has a schema that this version does not know."""


class SchemaChangedError(PacelineError):
    """A migration that was applied is not the one that this version has."""


class SchemaBusyError(PacelineError):
    """Somebody uses the tables without end; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One schema version."""

    version: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        """Tells whether two migrations of one number are the same."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations() -> list[Migration]:
    """All versions that this package knows, oldest first."""
    found = []
    for folder in sorted((files("paceline") / "sql").iterdir(), key=lambda entry: entry.name):
        number, _, name = folder.name.partition("_")
        parts = sorted((part for part in folder.iterdir() if part.name.endswith(".sql")), key=lambda part: part.name)
        found.append(Migration(int(number), name, "\n".join(part.read_text(encoding="utf-8") for part in parts)))
    return found


async def migrate(url: str, *, to: int | None = None) -> list[Migration]:
    """Apply what is missing, up to version `to` or the newest; returns what was applied."""
    address = Address.parse(url)
    with in_our_words(address):
        return await _migrate(address.url, to)


async def _migrate(url: str, to: int | None) -> list[Migration]:
    connection = await asyncpg.connect(url, timeout=10, statement_cache_size=0)
    give_up = time.monotonic() + PATIENCE
    try:
        while True:
            try:
                return await _apply(connection, to)
            except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError) as error:
                if time.monotonic() > give_up:
                    raise SchemaBusyError(
                        f"other transactions have used the tables for {PATIENCE:g} s: end those that pg_stat_activity "
                        "shows with an old xact_start (a backup, a forgotten session), and migrate again"
                    ) from error
            await asyncio.sleep(PAUSE)
    finally:
        await connection.close()


async def _apply(connection: "asyncpg.Connection[asyncpg.Record]", to: int | None) -> list[Migration]:
    async with connection.transaction():  # all or nothing; a session's lock would not hold behind PgBouncer
        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
        await connection.execute(f"SET LOCAL lock_timeout = '{WAIT} s'")
        await connection.execute(BOOTSTRAP)
        missing = [each for each in await pending(connection) if to is None or each.version <= to]
        for migration in missing:
            await connection.execute(migration.sql)
            await connection.execute(
                "INSERT INTO paceline.migration (version, name, digest) VALUES ($1, $2, $3)",
                migration.version,
                migration.name,
                migration.digest,
            )
        return missing


async def pending(connection: "asyncpg.Connection[asyncpg.Record]") -> list[Migration]:
    """What a database lacks; an error if it has more than we know, or something else."""
    known = migrations()
    applied = {row["version"]: row for row in await connection.fetch("SELECT * FROM paceline.migration")}
    _refuse_foreign(known, list(applied.values()))
    return [each for each in known if each.version not in applied]


def _refuse_foreign(known: Sequence[Migration], applied: "Sequence[asyncpg.Record]") -> None:
    ours = {each.version: each for each in known}
    for row in applied:
        if row["version"] not in ours:
            raise SchemaTooNewError(
                f"the database has schema version {row['version']}, this paceline knows up to {known[-1].version}: "
                "install a newer paceline"
            )
        if row["digest"] != ours[row["version"]].digest:
            raise SchemaChangedError(
                f"schema version {row['version']} of the database was made by another build of paceline: "
                "use that build, or make a new database"
            )
