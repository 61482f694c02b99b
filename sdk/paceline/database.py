"""Connections to Postgres, and its errors in our words."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit, urlunsplit

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
    "PL009": errors.NotInOfficeError,
    "PL010": errors.RequestMismatchError,
}
MIGRATE = "run: paceline migrate"
UNREADABLE: Final = (
    "the database URL cannot be read: write it like postgresql://user:password@host:5432/database, with "
    '"/", "?", "#", "[" and "]" in a password as %2F, %3F, %23, %5B and %5D'
)
_HOSTS = re.compile(r"(?:(?:\[[^][]*\]|[^][:,]*)(?::[0-9]+)?(?:,|$))*")
# PgBouncer has one state for whatever it refuses itself (08P01); its words tell which, in 1.18 and in 1.24.
_REFUSED: Final = (
    (re.compile(r"no such user|authentication failed"), "28P01"),
    (re.compile(r"^database .* does not exist|^no such database"), "3D000"),
)
_FLAGS: Final = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Address:
    """A database URL, and whether PgBouncer in transaction mode stands before it (`?pgbouncer=1`)."""

    url: str = field(repr=False)
    pgbouncer: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take our own option out of a URL; the rest is PostgreSQL's. No error quotes it: a password is in there."""
        try:
            parts = urlsplit(text)
            options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise errors.InvalidInputError(UNREADABLE) from None
        if parts.scheme not in ("postgresql", "postgres"):
            raise errors.InvalidInputError(
                "the database URL does not begin with postgresql://: "
                "write it like postgresql://user:password@host:5432/database"
            )
        # a password with a bare "/", "?" or "#" ends the host too early: its rest shows up in path or fragment
        if not _HOSTS.fullmatch(_hosts(parts)) or "@" in parts.path or parts.fragment:
            raise errors.InvalidInputError(UNREADABLE)
        flag = dict(options).get("pgbouncer", "0")
        if flag not in _FLAGS:
            raise errors.InvalidInputError(f'the database URL has pgbouncer="{flag}" (use 1 or 0)')
        kept = urlencode([(key, value) for key, value in options if key != "pgbouncer"], quote_via=quote)
        return cls(urlunsplit(parts._replace(query=kept)), _FLAGS[flag])

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        parts = urlsplit(self.url)
        return f"{_hosts(parts) or 'localhost'}{parts.path}"


def _hosts(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


@contextlib.contextmanager
def in_our_words(address: Address) -> Iterator[None]:
    """Turn what PostgreSQL says into errors that name the fix; passwords stay out of them."""
    try:
        yield
    except asyncpg.PostgresError as error:
        # asyncpg raises some of these itself (a value of the wrong type); those have no fields
        message = getattr(error, "message", None) or str(error)
        raise translated(error.sqlstate, message, getattr(error, "hint", None), address.place) from error
    except (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise unreachable(error, address.place) from error


def unreachable(error: Exception, place: str) -> errors.DatabaseError:
    """The error for a connection that could not be made, or that broke."""
    return errors.DatabaseError(f"cannot reach the database {place}: {str(error) or type(error).__name__}")


def translated(state: str | None, message: str, hint: str | None, place: str) -> errors.PacelineError:
    """The error of ours for an SQLSTATE; the same for every driver."""
    state = state or ""
    if state == "08P01":
        state = next((meant for words, meant in _REFUSED if words.search(message)), state)
    if known := BY_STATE.get(state):
        return known(f"{message}{f': {hint}' if hint else ''}")
    match state:
        case "3F000" | "42883" | "42P01":
            return errors.SchemaError(f"the database {place} has no Paceline schema, or an older one: {MIGRATE}")
        case "25006":
            return errors.DatabaseError(f"the database {place} is read-only (a replica?): connect to the primary")
        case "28P01" | "28000":
            return errors.DatabaseError(f"the database {place} refuses the login: {message}")
        case "3D000":
            return errors.DatabaseError(f"{message}: create it, or correct the URL")
        case "08P01" if message.startswith("unsupported startup parameter"):
            return errors.DatabaseError(
                f"the database {place} is behind PgBouncer, which does not pass this on: {message} (take it out of the "
                "URL, or name it in PgBouncer's ignore_startup_parameters)"
            )
    if state.startswith("22"):  # data that does not fit its type
        return errors.InvalidInputError(message)
    return errors.DatabaseError(f"the database {place} says: {message}")


class Database:
    """A small pool of connections."""

    def __init__(
        self, pool: "asyncpg.Pool[asyncpg.Record]", address: Address, application: str, answer_seconds: float | None
    ) -> None:
        """Use a pool that is open; `open` makes one."""
        self._pool = pool
        self.address = address
        self._application, self._answer_seconds = application, answer_seconds

    @classmethod
    async def open(
        cls, url: str, *, size: int = 4, ready: int = 1, application: str = "paceline",
        answer_seconds: float | None = None,
    ) -> Self:  # fmt: skip
        """Connect `ready` times, up to `size` times on demand; PgBouncer is found out if the URL does not say it.

        `application` is who the server thinks we are, unless the URL says otherwise. A statement that takes longer than
        `answer_seconds` fails; without them it is waited for as long as TCP does where packets vanish, a quarter of an
        hour.
        """
        address = Address.parse(url)
        if not address.pgbouncer:
            address = await _tried(address)
        with in_our_words(address):
            pool = await asyncpg.create_pool(
                address.url, min_size=ready, max_size=size, reset=_nothing_to_reset,
                **_options(address, application, answer_seconds),
            )  # fmt: skip
        return cls(pool, address, application, answer_seconds)

    async def move(self, url: str) -> None:
        """Connect with another login, or elsewhere, from now on. Nothing changes if that does not work.

        A connection that is in use is closed when it comes back, the others at once.
        """
        address = await _tried(Address.parse(url))
        self._pool.set_connect_args(address.url, **_options(address, self._application, self._answer_seconds))
        await self._pool.expire_connections()
        self.address = address
        # who is asked for next is one that is connected, and an old one is then made anew
        idle = range(self._pool.get_idle_size())
        await asyncio.gather(*(self.value("SELECT 1") for _ in idle), return_exceptions=True)

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    def terminate(self) -> None:
        """Drop all connections, whatever they wait for."""
        self._pool.terminate()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    @contextlib.asynccontextmanager
    async def connection(self) -> "AsyncIterator[Connection]":
        """One connection for several statements."""
        with in_our_words(self.address):
            async with self._pool.acquire() as connection:
                yield connection

    async def rows(self, sql: str, *args: object) -> "list[Record]":
        """What a statement returns."""
        with in_our_words(self.address):
            return await self._pool.fetch(sql, *args)

    async def value(self, sql: str, *args: object) -> Any:
        """The first column of the first row."""
        with in_our_words(self.address):
            return await self._pool.fetchval(sql, *args)


async def _nothing_to_reset(_: "Connection") -> None:
    """No call of ours leaves anything in a session; asyncpg's own reset would be a second round trip for each."""


async def _tried(address: Address) -> Address:
    """One that lets us in; PgBouncer is found out if the URL does not say it."""
    with in_our_words(address):
        return Address(address.url, await behind_pgbouncer(address.url) or address.pgbouncer)


def _options(address: Address, application: str, answer_seconds: float | None) -> dict[str, Any]:
    options: dict[str, Any] = {"timeout": 10, "command_timeout": answer_seconds}
    if address.pgbouncer:
        options["statement_cache_size"] = 0
    if "application_name=" not in address.url:
        options["server_settings"] = {"application_name": application}
    return options


async def behind_pgbouncer(url: str) -> bool:
    """PgBouncer makes up the process id that a client is told; PostgreSQL tells its own."""
    connection = await asyncpg.connect(url, timeout=10, command_timeout=10, statement_cache_size=0)
    try:
        told = connection.get_server_pid()
        real = await connection.fetchval("SELECT pg_backend_pid()")
    finally:
        await connection.close()
    return bool(told != real)
