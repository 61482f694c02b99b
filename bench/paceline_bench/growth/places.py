"""A database that grows: what every axis needs around its calls."""

import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from paceline import Queue
from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.operating import Operating
from paceline.reading import Reader
from paceline.testing import PostgresServer
from paceline_bench.errors import NotMeasuredError
from paceline_bench.growth.calls import CONNECTIONS
from paceline_bench.server import connected
from paceline_bench.systems.paceline import INSTALL, POOL, install

if TYPE_CHECKING:
    import asyncpg

LEASE: Final = timedelta(hours=6)
"""Longer than a run: nobody beats here."""
LOG: Final = 12e9
"""Bytes of write-ahead log that are kept meanwhile."""
QUIET: Final = "UPDATE paceline.tick SET slow_at = 'infinity'"
"""What comes every ten minutes comes when it is asked for."""


@dataclass(frozen=True, slots=True)
class Place:
    """One database, and everybody's way to it."""

    database: Database
    raw: "asyncpg.Connection[asyncpg.Record]"
    queue: Queue
    operating: Operating
    reader: Reader

    async def survey(self) -> None:
        """The operator's one call for all groups."""
        await self.operating.observe(INSTALL)

    async def put_group(self, name: str = POOL) -> int:
        """A group as the operator puts it."""
        return await self.operating.put_group(install=INSTALL, namespace="bench", name=name, pool=name)

    async def register(self, name: str, pool: str = POOL, kinds: tuple[str, ...] = ("*",)) -> Incarnation:
        """A runner of a group."""
        who = Registration(
            name=name, pool=pool, kinds=kinds, slots=1000, lease=LEASE, install=INSTALL, namespace="bench", group=pool
        )
        return await Incarnation.register(self.database, who)

    async def settle(self) -> None:
        """What was filled in is vacuumed, analysed and on disk."""
        await self.raw.execute("VACUUM (ANALYZE)")
        await self.raw.execute("CHECKPOINT")


@contextlib.asynccontextmanager
async def place(server: PostgresServer) -> AsyncIterator[Place]:
    """A new database with our schema and one group."""
    async with server.database() as url:
        await install(url)
        async with connected(url) as raw, await Database.open(url, size=CONNECTIONS) as database:
            await raw.execute(QUIET)
            found = Place(database, raw, Queue(database, POOL), Operating(database), Reader(database))
            await found.put_group()
            yield found


def require_room(rows: int, each: int) -> None:
    """Better no figure than a full disk."""
    needed, free = rows * each + LOG, shutil.disk_usage(tempfile.gettempdir()).free
    if needed > free:
        raise NotMeasuredError(
            f"{rows:,} rows need {needed / 1e9:.0f} GB where temporary files are, and {free / 1e9:.0f} are free"
        )
