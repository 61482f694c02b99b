"""The one PostgreSQL that all subjects of a run share: durable, on loopback, the same settings for everybody."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from paceline.testing import PostgresServer
from paceline_bench.errors import BenchError

SETTINGS: Final = {
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",  # no checkpoint in the middle of somebody's repetition
    "checkpoint_timeout": "30min",
    "jit": "off",  # on, it costs PgQueuer most (58 against 3.4 ms a claim where a limit is set)
}
DURABLE: Final = ("fsync", "synchronous_commit", "full_page_writes")


@contextlib.contextmanager
def bench_server() -> Iterator[PostgresServer]:
    """A new server in a temporary folder on disk, gone at the end."""
    with PostgresServer.start(durable=True, settings=SETTINGS) as server:
        yield server


async def server_facts(server: PostgresServer) -> tuple[str, dict[str, object]]:
    """Its version and what it says of its settings; a server that does not write to disk measures nothing."""
    async with connected(server.url) as connection:
        said: dict[str, object] = {
            name: await connection.fetchval("SELECT current_setting($1)", name) for name in (*DURABLE, *SETTINGS)
        }
        version = str(await connection.fetchval("SHOW server_version"))
    if volatile := [name for name in DURABLE if said[name] != "on"]:
        raise BenchError(f"the server has {', '.join(volatile)} off: its figures would mean nothing")
    return version, said


@contextlib.asynccontextmanager
async def connected(url: str) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    """One connection."""
    connection = await asyncpg.connect(url, timeout=10)
    try:
        yield connection
    finally:
        await connection.close()


def renamed(url: str, database: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))
