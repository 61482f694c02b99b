"""A connection that listens, and rings when there is work for a group without runners."""

import asyncio
import contextlib
import logging
from typing import Final

from paceline.errors import PacelineError
from paceline.line import Line
from paceline.operating import ASLEEP

log = logging.getLogger("paceline.operator")
AGAIN: Final = 5.0
"""Seconds until a line that was cut is laid again; until then the looks find the work."""
CHECK: Final = 30.0
"""So often a line that says nothing is asked whether it is still there: a half-open one would be deaf for ever."""


class Bell:
    """Rings for one database. Without it, or while it is cut, work is found a second later."""

    def __init__(self, url: str) -> None:
        """`url` must not go through PgBouncer in transaction mode, or the bell never rings."""
        self._url = url
        self.rung = asyncio.Event()
        self.works = False
        """Whether it could be heard when it was last tried."""
        self._task: asyncio.Task[None] | None = None

    def hang(self) -> None:
        """Begin to listen, once."""
        if self._task is None:
            self._task = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        while True:
            try:
                await self._listen()
            except (PacelineError, TimeoutError, OSError) as error:
                log.debug("no wake-ups from a database: %s", error)
            self.works = False
            await asyncio.sleep(AGAIN)

    async def _listen(self) -> None:
        line = await Line.open(self._url)
        try:
            self.works = await line.listen(ASLEEP, self.rung.set)
            if not self.works:
                log.warning("a database sends no wake-ups: give spec.database's Secret a listenUrl past PgBouncer")
            self.rung.set()  # what came before we listened
            while not line.closed:
                await line.until_closed(CHECK)
                async with asyncio.timeout(CHECK):
                    await line.value("SELECT 1")
        finally:
            line.close()

    async def take_down(self) -> None:
        """Listen no more."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
