"""The way in: a database that answers, and a registration in it, however long that takes."""

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.errors import DatabaseError, PacelineError, SchemaError
from paceline_runner.settings import MARGIN, Settings
from paceline_runner.tenure import Tenure

PAUSE: Final = 1.0
T = TypeVar("T")
log = logging.getLogger("paceline.runner")


class Entry:
    """Waits for what is away; a refusal is an error. Ends when the runner has to leave."""

    def __init__(self, settings: Settings, kinds: tuple[str, ...], leaving: asyncio.Event) -> None:
        """For one runner."""
        self._settings, self._kinds, self._leaving = settings, kinds, leaving

    async def connected(self) -> Database | None:
        """Connections for all dispatchers; None if we have to leave."""
        size = self._settings.dispatchers
        return await self._patiently(
            "the database", lambda: Database.open(self._settings.database_url, size=size + 1, ready=size)
        )

    async def registered(self, database: Database, wake: Callable[[], None]) -> Tenure | None:
        """A registration; None if we have to leave."""
        return await self._patiently("a registration", lambda: self._register(database, wake))

    async def _register(self, database: Database, wake: Callable[[], None]) -> Tenure:
        settings = self._settings
        who = Registration(
            name=settings.name, pool=settings.pool, kinds=self._kinds, tags=settings.tags, slots=settings.slots,
            lease=timedelta(seconds=settings.lease), install=settings.install, namespace=settings.namespace,
            group=settings.group, external=settings.external, hostname=settings.pod_name or socket.gethostname(),
            pod_uid=settings.pod_uid, revision=settings.revision,
        )  # fmt: skip
        sent = time.monotonic()
        incarnation = await Incarnation.register(database, who)
        if settings.taints is not None:
            await incarnation.taint(settings.taints)
        return Tenure(incarnation, sent + settings.lease - MARGIN, wake)

    async def _patiently(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T | None:
        told = ""
        while not self._leaving.is_set():
            try:
                return await attempt()
            except (DatabaseError, SchemaError, TimeoutError) as error:
                if str(error) != told:
                    log.warning("waiting for %s: %s", what, error)
                    told = str(error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._leaving.wait()
        return None


async def close(database: Database) -> None:
    """Close the connections; a server that is half gone must not keep us."""
    try:
        async with asyncio.timeout(2):
            await database.close()
    except (PacelineError, TimeoutError, OSError):
        database.terminate()
