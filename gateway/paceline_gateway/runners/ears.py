"""One connection on which the database tells of work, in every pool that somebody here waits in.

It only wakes: what it misses is found by whoever looks now and then.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from paceline.errors import PacelineError
from paceline.line import Line, Lines

AGAIN_SECONDS: Final = 1.0
"""After this long a connection that was lost is made anew."""
PROBE_SECONDS: Final = 60.0
"""So often a connection on which nothing comes is asked whether it still is one."""
ANSWER_SECONDS: Final = 10.0
log = logging.getLogger("paceline.gateway")


class Ears:
    """Hears for many pools."""

    def __init__(self, lines: Lines, ring: Callable[[int], None]) -> None:
        """`lines` are opened past PgBouncer; `ring` is called with the pool that has work."""
        self._lines, self._ring = lines, ring
        self._wanted: set[int] = set()
        self._heard: set[int] = set()
        self._asked = asyncio.Event()

    def hear(self, pool: int) -> bool:
        """Listen to it from now on; whether that is so already."""
        if pool not in self._wanted:
            self._wanted.add(pool)
            self._asked.set()
        return pool in self._heard

    async def run(self) -> None:
        """For ever."""
        while True:
            try:
                line = await self._lines.open()
                try:
                    await self._tend(line)
                finally:
                    self._heard.clear()
                    line.close()
            except (PacelineError, TimeoutError) as error:
                log.warning("nobody tells of work: %s", str(error) or "the database does not answer")
            for pool in self._wanted:
                self._ring(pool)  # for what was told meanwhile
            await asyncio.sleep(AGAIN_SECONDS)

    async def _tend(self, line: Line) -> None:
        """Until the connection has gone."""
        while not line.closed:
            self._asked.clear()
            for pool in sorted(self._wanted - self._heard):
                if not await line.listen(f"paceline_{pool}", partial(self._ring, pool)):
                    await line.until_closed(PROBE_SECONDS)  # what is between us and it does not change every second
                    return
                self._heard.add(pool)
                self._ring(pool)  # for what was told before we heard
            await self._something(line)

    async def _something(self, line: Line) -> None:
        """Wait for another pool to be wanted, or for the end; a connection that has long been silent is probed."""
        waiting = {asyncio.create_task(self._asked.wait()), asyncio.create_task(line.until_closed(PROBE_SECONDS))}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        if not self._asked.is_set() and not line.closed:
            async with asyncio.timeout(ANSWER_SECONDS):
                await line.value("SELECT 1")
