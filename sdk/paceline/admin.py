"""What owners and operators do: limits, grants, namespaces. Each is one call, and the database asks who is calling."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from paceline.database import Database
from paceline.errors import NotFoundError
from paceline.job import KIND, NAME_LIMIT, need
from paceline.reading import Reader
from paceline.seen import Grant, PoolSeen, read

if TYPE_CHECKING:
    from paceline.migrate import Migration

ANY_POOL = "*"


async def database_now(database: Database) -> datetime:
    """What time it is: the database's clock alone counts."""
    now: datetime = await database.value("SELECT clock_timestamp()")
    return now


def pool_named(found: Sequence[PoolSeen], name: str) -> PoolSeen:
    """The pool of that name among those that may be read."""
    for pool in found:
        if pool.name == name:
            return pool
    there = ", ".join(pool.name for pool in found[:10]) or "none yet"
    raise NotFoundError(
        f'there is no pool "{name}" that this login may read (there are: {there}): '
        "a pool begins with its first job, RunnerGroup or runner"
    )


async def existing_pool(database: Database, name: str) -> PoolSeen:
    """A pool that is there, as it stands; the functions that set something would make one of a mistyped name."""
    return pool_named(await Reader(database).list_pools(), name)


async def set_pool(
    database: Database,
    pool: str,
    *,
    max_depth: int | None = None,
    rate: float | None = None,
    burst: float | None = None,
) -> None:
    """None leaves a limit as it is, a negative number takes it away."""
    await database.value(
        "SELECT paceline.set_pool($1, p_max_depth => $2, p_rate => $3, p_burst => $4)", pool, max_depth, rate, burst
    )


async def set_kind(database: Database, pool: str, kind: str, rate: float, burst: float | None) -> None:
    """The rate of a kind; a negative one takes it away."""
    need(KIND.fullmatch(kind), f'kind "{kind}" is no name (at most 128 letters, digits, "-_.:/")')
    await database.value("SELECT paceline.set_kind($1, $2, $3, $4)", pool, kind, rate, burst)


async def set_key(
    database: Database, pool: str, key: str, limit: int | None, rate: float | None, burst: float | None
) -> None:
    """Both limits of a key; None is no limit."""
    need(0 < len(key) <= NAME_LIMIT and "\0" not in key, f"key must have 1 to {NAME_LIMIT} characters, no NUL")
    await database.value("SELECT paceline.set_key($1, $2, $3, $4, $5)", pool, key, limit, rate, burst)


async def has_login(database: Database, name: str) -> bool:
    """Whether the server knows somebody of that name who may log in."""
    return bool(await database.value("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1 AND rolcanlogin)", name))


async def grant_login(database: Database, login: str, role: str, pool: str) -> None:
    """`*` is every pool."""
    await database.value("SELECT paceline.grant_login($1, $2, $3)", login, role, None if pool == ANY_POOL else pool)


async def revoke_login(database: Database, login: str, role: str, pool: str) -> None:
    """Also ends what was registered with the grant."""
    await database.value("SELECT paceline.revoke_login($1, $2, $3)", login, role, None if pool == ANY_POOL else pool)


async def grant_namespace(database: Database, pool: str, namespace: str) -> bool:
    """Whether that is new."""
    return bool(await database.value("SELECT paceline.grant_namespace($1, $2)", pool, namespace))


async def revoke_namespace(database: Database, pool: str, namespace: str) -> bool:
    """Whether there was such a grant."""
    return bool(await database.value("SELECT paceline.revoke_namespace($1, $2)", pool, namespace))


async def missing_migrations(database: Database) -> "tuple[bool, list[Migration]]":
    """Whether our schema is there at all, and what it lacks. Nothing is written, and nothing can be."""
    from paceline.migrate import migrations, pending

    async with database.connection() as connection, connection.transaction(readonly=True):
        if await connection.fetchval("SELECT to_regclass('paceline.migration')") is None:
            return False, migrations()
        return True, await pending(connection)  # type: ignore[arg-type]  # a pooled connection can do all that it needs


async def list_grants(database: Database, pool: str | None = None) -> list[Grant]:
    """Who may use a pool, or any; a login that is neither owner nor operator sees its own grants."""
    return [read(Grant, row) for row in await database.rows("SELECT * FROM paceline.list_grants($1)", pool)]


async def restored(database: Database) -> tuple[int, int]:
    """Move all numbers beyond those that a restore has forgotten, and end all registrations.

    How many registrations were ended, and how many jobs went back.
    """
    (row,) = await database.rows("SELECT registrations, jobs FROM paceline.restored()")
    return row["registrations"], row["jobs"]
