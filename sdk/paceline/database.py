"""Connections to Postgres, and its errors in our words."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from paceline import errors

if TYPE_CHECKING:
    from typing import TypeAlias

    from asyncpg.pool import PoolConnectionProxy

    Record: TypeAlias = asyncpg.Record
    Connection: TypeAlias = asyncpg.Connection[Record] | PoolConnectionProxy[Record]

BY_STATE: dict[str, type[errors.PacelineError]] = {
    "PL001": errors.NotAllowedError,
    "PL002": errors.InvalidInputError,
    "PL003": errors.PoolFullError,
    "PL004": errors.TooManyLanesError,
    "PL005": errors.NotFoundError,
    "PL006": errors.NameTakenError,
    "PL007": errors.PoolConflictError,
    "PL008": errors.PoolConflictError,
}
MIGRATE = "run: paceline migrate"


@dataclass(frozen=True, slots=True)
class Address:
    """A database URL, and whether PgBouncer in transaction mode stands before it (`?pgbouncer=1`)."""

    url: str
    pgbouncer: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take our own option out of a URL; the rest is PostgreSQL's."""
        parts = urlsplit(text)
        if parts.scheme not in ("postgresql", "postgres"):
            raise errors.InvalidInputError(
                f'the database URL begins with "{parts.scheme}:": write it like postgresql://user:password@host/database'
            )
        options = parse_qsl(parts.query)
        kept = urlencode([(key, value) for key, value in options if key != "pgbouncer"])
        return cls(urlunsplit(parts._replace(query=kept)), ("pgbouncer", "1") in options)


@contextlib.contextmanager
def in_our_words(address: str) -> Iterator[None]:
    """Turn what PostgreSQL says into errors that name the fix; passwords stay out of them."""
    where = urlsplit(address)
    place = f"{where.hostname or 'localhost'}:{where.port or 5432}{where.path}"
    try:
        yield
    except asyncpg.PostgresError as error:
        raise _translated(error, place) from error
    except (OSError, asyncpg.InterfaceError) as error:
        raise errors.DatabaseError(
            f"cannot reach the database {place}: {str(error) or type(error).__name__}"
        ) from error


def _translated(error: asyncpg.PostgresError, place: str) -> errors.PacelineError:
    state = error.sqlstate or ""
    if known := BY_STATE.get(state):
        return known(f"{error.message}{f': {error.hint}' if error.hint else ''}")
    match state:
        case "3F000" | "42883" | "42P01":
            return errors.SchemaError(f"the database {place} has no Paceline schema, or an older one: {MIGRATE}")
        case "25006":
            return errors.DatabaseError(f"the database {place} is read-only (a replica?): connect to the primary")
        case "28P01" | "28000":
            return errors.DatabaseError(f"the database {place} refuses the login: {error.message}")
        case "3D000":
            return errors.DatabaseError(f"{error.message}: create it, or correct the URL")
    return errors.DatabaseError(f"the database {place} says: {error.message}")


class Database:
    """A small pool of connections."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", address: Address) -> None:
        """Use a pool that is open; `open` makes one."""
        self._pool = pool
        self.address = address

    @classmethod
    async def open(cls, url: str, *, size: int = 4) -> Self:
        """Connect; PgBouncer is found out if the URL does not say it."""
        address = Address.parse(url)
        with in_our_words(address.url):
            if not address.pgbouncer and await behind_pgbouncer(address.url):
                address = Address(address.url, pgbouncer=True)
            options: dict[str, Any] = {"statement_cache_size": 0} if address.pgbouncer else {}
            pool = await asyncpg.create_pool(address.url, min_size=1, max_size=size, timeout=10, **options)
        return cls(pool, address)

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    @contextlib.asynccontextmanager
    async def connection(self) -> "AsyncIterator[Connection]":
        """One connection for several statements."""
        with in_our_words(self.address.url):
            async with self._pool.acquire() as connection:
                yield connection

    async def rows(self, sql: str, *args: object) -> "list[Record]":
        """What a statement returns."""
        with in_our_words(self.address.url):
            return await self._pool.fetch(sql, *args)

    async def value(self, sql: str, *args: object) -> Any:
        """The first column of the first row."""
        with in_our_words(self.address.url):
            return await self._pool.fetchval(sql, *args)


async def behind_pgbouncer(url: str) -> bool:
    """PgBouncer makes up the process id that a client is told; PostgreSQL tells its own."""
    connection = await asyncpg.connect(url, timeout=10, statement_cache_size=0)
    try:
        told = connection.get_server_pid()
        real = await connection.fetchval("SELECT pg_backend_pid()")
    finally:
        await connection.close()
    return bool(told != real)
