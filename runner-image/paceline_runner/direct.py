"""The way of a runner with a database login of its own."""

import asyncio
import itertools
import logging
import random
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final, Self

from paceline.claims import Beat, Incarnation, Registration
from paceline.database import Database
from paceline.errors import PacelineError
from paceline.line import Line
from paceline.queue import Queue
from paceline_runner.ear import Ear
from paceline_runner.ports import Seat
from paceline_runner.settings import Settings

PAUSE: Final = 1.0
HOUSE_PAUSE: Final = 1.0
log = logging.getLogger("paceline.runner")


class DirectWay:
    """Connections for all dispatchers, and one that the keeper opens for itself."""

    place = "the database"

    def __init__(self, settings: Settings) -> None:
        """Open nothing yet."""
        self._settings = settings
        self._opened: Database | None = None
        self._runners: Callable[[], int] = lambda: 1
        self.runner = settings.name

    @property
    def _database(self) -> Database:
        assert self._opened is not None
        return self._opened

    def pauses(self) -> Iterator[float]:
        """Always the same: a database has its own limit of connections."""
        return itertools.repeat(PAUSE)

    async def connect(self) -> None:
        """One connection for each dispatcher at once, one more on demand."""
        size = self._settings.dispatchers
        self._opened = await Database.open(self._settings.database_url, size=size + 1, ready=size)

    async def register(self, kinds: tuple[str, ...]) -> tuple[Seat, float]:
        """Become the Runner, with the taints that the command line gives it."""
        settings = self._settings
        who = Registration(
            name=settings.name, pool=settings.pool, kinds=kinds, tags=settings.tags, slots=settings.slots,
            lease=timedelta(seconds=settings.lease), install=settings.install, namespace=settings.namespace,
            group=settings.group, external=settings.external, hostname=settings.pod_name or socket.gethostname(),
            pod_uid=settings.pod_uid, revision=settings.revision,
        )  # fmt: skip
        incarnation = await Incarnation.register(self._database, who)
        if settings.taints is not None:
            await incarnation.taint(settings.taints)
        return incarnation, settings.lease

    async def lifeline(self, seat: Seat, wake: Callable[[], None], told: object) -> "DirectLine":  # noqa: ARG002
        """LISTEN on it too. What is said between heartbeats the main loop hears with its steps."""
        assert isinstance(seat, Incarnation)
        return await DirectLine.open(self._settings, seat, Ear(wake, lambda: self._runners()))

    async def keep_house(self, pool: str, runners: Callable[[], int]) -> None:
        """Due jobs, leases, keys and cron, also while nobody claims: about once a second for all runners of a pool."""
        queue, self._runners = Queue(self._database, pool), runners
        while True:
            await asyncio.sleep(HOUSE_PAUSE * runners() * random.uniform(0.5, 1.5))  # noqa: S311 -- not all at once
            try:
                await queue.tick()
            except PacelineError as error:
                log.debug("housekeeping: %s", error)

    async def close(self) -> None:
        """Close the connections; a server that is half gone must not keep us."""
        database, self._opened = self._opened, None
        if database is None:
            return
        try:
            async with asyncio.timeout(2):
                await database.close()
        except (PacelineError, TimeoutError, OSError):
            database.terminate()


class DirectLine:
    """Heartbeats, and LISTEN on the same connection."""

    def __init__(self, line: Line, incarnation: Incarnation, ear: Ear, listening: bool) -> None:
        """Use a line that is open."""
        self._line, self._incarnation, self.listening = line, incarnation.over(line), listening
        self._ear = ear

    @classmethod
    async def open(cls, settings: Settings, incarnation: Incarnation, ear: Ear) -> Self:
        """Connect, and listen where that is possible."""
        line = await Line.open(settings.listen_url or settings.database_url, timeout=settings.heartbeat)
        return cls(line, incarnation, ear, await line.listen(incarnation.channel, ear.hear))

    @property
    def closed(self) -> bool:
        """Whether it has ended, by us or by the server."""
        return self._line.closed

    async def heartbeat(self) -> Beat:
        """Keep the lease."""
        return await self._incarnation.heartbeat()

    async def until_closed(self, seconds: float) -> None:
        """Wait for its end, so long at most."""
        await self._line.until_closed(seconds)

    async def abandon(self, *, leaving: bool) -> None:
        """Its jobs go back, or are lost with the cause."""
        await (self._incarnation.deregister() if leaving else self._incarnation.fence("HandlerStuck"))

    def close(self) -> None:
        """End it at once."""
        self._ear.close()
        self._line.close()
