"""A queue of each test's own, and the means to play with time: leases that end, housekeeping that is due."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import asyncpg
import pytest

from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.queue import Queue
from paceline.testing import PostgresServer
from support.bounced import BOUNCED
from support.bouncer import BouncedServer
from support.pg import Login, LoginUrl, Register, logins, migrated_template
from support.servers import server, versions


@pytest.fixture(scope="session", params=[*versions(), BOUNCED])
def postgres(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """A real server, one of each version for the whole run, and one behind PgBouncer."""
    return server(tmp_path_factory, request.param)


@pytest.fixture(scope="session")
def template(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database with our schema, made once for each server of the run."""
    return migrated_template(tmp_path_factory, postgres)


@pytest.fixture
async def migrated(postgres: PostgresServer, template: str) -> AsyncIterator[str]:
    """The URL of a fresh database with our schema."""
    async with postgres.database(template) as url:
        yield url


@pytest.fixture
async def database(migrated: str) -> AsyncIterator[Database]:
    """The owner's connections to it."""
    async with await Database.open(migrated, size=20) as opened:
        yield opened


@pytest.fixture
def queue(database: Database) -> Queue:
    """The pool `builds` in it."""
    return Queue(database, "builds")


@pytest.fixture
def direct(postgres: PostgresServer, migrated: str) -> str:
    """The URL of the same database, past PgBouncer where there is one: for whoever holds a session, or watches one."""
    return postgres.direct(migrated) if isinstance(postgres, BouncedServer) else migrated


@pytest.fixture
async def connect(direct: str) -> AsyncIterator[Callable[[], Awaitable["asyncpg.Connection[asyncpg.Record]"]]]:
    """Connections for tests that hold a transaction open, and look at who waits for whom by process ids."""
    opened: list[asyncpg.Connection[asyncpg.Record]] = []

    async def make() -> "asyncpg.Connection[asyncpg.Record]":
        opened.append(await asyncpg.connect(direct))
        return opened[-1]

    yield make
    for connection in opened:
        connection.terminate()


@pytest.fixture
def register(database: Database) -> Register:
    """Register a runner; `kinds=("*",)` serves every kind."""

    async def make(name: str = "r1", *, pool: str = "builds", **rest: object) -> Incarnation:
        given = {"kinds": ("*",), **rest, "namespace": "ci" if rest.get("group") else ""}
        return await Incarnation.register(database, Registration(name=name, pool=pool, **given))  # type: ignore[arg-type]

    return make


@pytest.fixture
def tick(database: Database) -> Callable[[], Awaitable[None]]:
    """All of the housekeeping, now."""

    async def now() -> None:
        await database.value(
            "UPDATE paceline.tick SET next_at = '-infinity', mark_at = '-infinity', review_at = '-infinity'"
        )
        assert await database.value("SELECT paceline.tick()") is True

    return now


@pytest.fixture
def expire_lease(database: Database) -> Callable[[Incarnation], Awaitable[None]]:
    """As if the runner had not been heard of for longer than its lease."""

    async def end(incarnation: Incarnation) -> None:
        await database.value(
            "UPDATE paceline.incarnation SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1",
            incarnation.id,
        )

    return end


@pytest.fixture
async def login_url(database: Database, migrated: str) -> AsyncIterator[LoginUrl]:
    """Real roles with a password."""
    async with logins(database, migrated) as make:
        yield make


@pytest.fixture
async def login(login_url: LoginUrl) -> AsyncIterator[Login]:
    """Connections of a login of its own."""
    async with AsyncExitStack() as stack:

        async def make(role: str | None = None, pool: str | None = None, **roles: str | None) -> Database:
            opened = await Database.open(await login_url(role, pool, **roles), size=2)
            return await stack.enter_async_context(opened)

        yield make
