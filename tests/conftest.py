"""What every test may ask for: a real PostgreSQL server and a fresh database on it."""

from collections.abc import AsyncIterator

import pytest

from paceline.testing import PostgresServer
from support import ctrl_c
from support.bouncer import BouncedServer, bounced
from support.pg import one_server
from support.servers import server, versions

ctrl_c.hear()

pytest_plugins = ["support.shell", "support.order", "support.real", "support.behind", "support.leaks", "pytester"]


def pytest_report_header() -> str:
    """Say at the top what the database tests run on."""
    return f"PostgreSQL for tests: {', '.join(versions())}"


@pytest.fixture(scope="session", params=versions())
def postgres(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """A real server, one of each version for the whole run."""
    return server(tmp_path_factory, request.param)


@pytest.fixture(scope="session")
def bouncer(tmp_path_factory: pytest.TempPathFactory) -> BouncedServer:
    """The first of them behind PgBouncer in transaction mode."""
    return bounced(tmp_path_factory, one_server(tmp_path_factory))


@pytest.fixture
async def empty_database(postgres: PostgresServer) -> AsyncIterator[str]:
    """The URL of an empty database of the test's own."""
    async with postgres.database() as url:
        yield url
