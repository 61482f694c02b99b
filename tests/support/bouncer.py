"""PgBouncer in transaction mode before a test's server.

The databases that a test gets are reached through it; what makes and drops them goes to the server itself, and so does
whatever must hold a session.
"""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from paceline.testing import PostgresServer
from paceline_dev.errors import DevError
from paceline_dev.pgbouncer import at, programs, start
from paceline_dev.progress import stderr_reporter
from support.shared import shared


class BouncedServer(PostgresServer):
    """A server whose databases are reached through PgBouncer."""

    def __init__(self, url: str, port: int) -> None:
        """`url` is the server's own, `port` PgBouncer's on this machine."""
        super().__init__(url)
        self._port = port

    @contextlib.asynccontextmanager
    async def database(self, template: str = "template0") -> AsyncIterator[str]:
        """A fresh database, by the way through PgBouncer."""
        async with super().database(template) as url:
            yield at(url, f"127.0.0.1:{self._port}")

    def direct(self, url: str) -> str:
        """The way past PgBouncer to the same database."""
        return at(url, urlsplit(self.url).netloc.rpartition("@")[2])


def bounced(factory: pytest.TempPathFactory, server: PostgresServer) -> BouncedServer:
    """The same server behind PgBouncer, which is started once for a run."""

    def begin(owner: int) -> tuple[object, dict[str, str]]:
        # every test has databases of its own, and the server 300 connections: those that idle are given up soon
        process, port = start(_fetched(), server.url, owner, idle=2)
        return process, {"port": str(port)}

    port = shared(factory, f"bouncer-{urlsplit(server.url).port}", begin)["port"]
    return BouncedServer(server.url, int(port))


def _fetched() -> Path:
    """Its files; where they cannot be had the test says so (and fails, in CI)."""
    try:
        return programs(stderr_reporter())
    except DevError as error:
        pytest.skip(f"PgBouncer cannot be had: {error}")
