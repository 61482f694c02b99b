"""The ways from a runner to the database, each with a database of its own."""

import contextlib
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import psutil

from paceline.database import Database
from paceline.testing import PostgresServer
from paceline_bench.assess.plan import Way
from paceline_bench.errors import NotMeasuredError
from paceline_bench.gateway.door import Door, gateway
from paceline_bench.process import Process
from paceline_bench.server import SETTINGS, connected
from paceline_bench.systems.paceline import SYSTEM
from paceline_bench.templates import Templates
from paceline_bench.workers import writes
from paceline_dev import pgbouncer
from paceline_dev.errors import DevError
from paceline_dev.progress import Reporter

SERVER: Final = {**SETTINGS, "max_connections": "1500", "track_wal_io_timing": "on"}
"""A thousand runners hold a connection each; what it takes to make the log durable is timed."""
CONNECTIONS: Final = 8
"""Of whoever puts jobs in."""
DOORS: Final[Mapping[Way, int]] = {"gateway": 1, "gateways": 2}


@dataclass(frozen=True, slots=True)
class Place:
    """Where one station stands."""

    way: Way
    url: str
    """The database itself."""
    runners_url: str
    """The database as runners and producers reach it, where they do."""
    producers: Database
    doors: tuple[Door, ...]
    server: int
    """The process of the database."""
    bouncer: int | None
    """PgBouncer's, where it stands between."""

    @property
    def coordinators(self) -> tuple[int, ...]:
        """The processes between runners and database."""
        if self.bouncer is not None:
            return (self.bouncer,)
        return tuple(each.process.pid for each in self.doors)


def cpu(*pids: int) -> float:
    """The seconds that processes and their children have computed, those included that have ended."""
    spent = 0.0
    for pid in pids:
        process = psutil.Process(pid)
        times = process.cpu_times()
        spent += times.user + times.system + times.children_user + times.children_system
        for child in process.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                own = child.cpu_times()
                spent += own.user + own.system
    return spent


def end(process: Process) -> None:
    """Without grace: nobody needs what it would say."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()


@contextlib.asynccontextmanager
async def place(server: PostgresServer, templates: Templates, way: Way, report: Reporter) -> AsyncIterator[Place]:
    """Until the end of the block; what was started on the way ends at once."""
    template = await templates.full(SYSTEM, 0)
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(server.database(template))
        async with connected(url) as connection:
            await connection.execute(writes.TABLE)
            postmaster = psutil.Process(await connection.fetchval("SELECT pg_backend_pid()")).ppid()
        bouncer, through = stack.enter_context(_bouncer(server, url, report)) if way == "bounced" else (None, url)
        producers = await stack.enter_async_context(
            await Database.open(through, size=CONNECTIONS, application="bench")
        )  # fmt: skip
        doors = []
        for _ in range(DOORS.get(way, 0)):
            doors.append(await stack.enter_async_context(gateway(url, producers)))
            stack.callback(end, doors[-1].process)
        yield Place(way, url, through, producers, tuple(doors), postmaster, bouncer)


@contextlib.contextmanager
def _bouncer(server: PostgresServer, url: str, report: Reporter) -> Iterator[tuple[int, str]]:
    """Its process, and the same database through it."""
    try:
        process, port = pgbouncer.start(pgbouncer.programs(report), server.url)
    except DevError as error:
        raise NotMeasuredError(str(error)) from None
    try:
        yield process.pid, pgbouncer.at(url, f"127.0.0.1:{port}")
    finally:
        process.stop()
        shutil.rmtree(process.log.parent, ignore_errors=True)
