"""What every test may ask for: a real PostgreSQL server and a fresh database on it."""

import os
import signal
from collections.abc import AsyncIterator

import pytest

from paceline.testing import PostgresServer, Programs, bundled, installed
from support.shared import shared

# In a shell's background job SIGINT is ignored, and everything that a test starts would ignore Ctrl-C too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["support.order", "support.real", "pytester"]


def _servers() -> dict[str, Programs | None]:
    """The PostgreSQL versions at hand, by the name that a test's id shows."""
    if "PACELINE_TEST_DATABASE_URL" in os.environ:
        return {"url": None}
    servers: dict[str, Programs | None] = {"pg18": bundled()}
    if found := installed(15):
        servers["pg15"] = found
    return servers


def pytest_report_header() -> str:
    """Say at the top what the database tests run on."""
    return f"PostgreSQL for tests: {', '.join(_servers())}"


@pytest.fixture(scope="session", params=_servers())
def postgres(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """A real server, one of each version for the whole run."""
    if request.param == "url":
        return PostgresServer(os.environ["PACELINE_TEST_DATABASE_URL"])
    programs = _servers()[request.param]

    def start(owner: int) -> tuple[object, dict[str, str]]:
        server = PostgresServer.start(programs, owner=owner)
        return server, {"url": server.url}

    return PostgresServer(shared(tmp_path_factory, request.param, start)["url"])


@pytest.fixture
async def empty_database(postgres: PostgresServer) -> AsyncIterator[str]:
    """The URL of an empty database of the test's own."""
    async with postgres.database() as url:
        yield url
