"""Where many come at once a few at a time go through, and whoever would wait too long is told when to come back.

All requests share the connections to the database. A thousand runners that start together would stand in line before
the heartbeats of those that work, until these were taken for lost; and those at the end of the line would be served
when they have long hung up and come again, which makes the line longer still.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import Final

from paceline_gateway.problem import Problem

PATIENCE_SECONDS: Final = 8.0
"""Runners hang up after 10 s."""
EARLIEST, LATEST = 2, 10
"""Seconds after which to come back; not all at once."""


class Turnstile:
    """First come, first served."""

    def __init__(self, abreast: int) -> None:
        """So many at a time."""
        self._free = asyncio.Semaphore(abreast)

    @contextlib.asynccontextmanager
    async def passing(self, what: str) -> AsyncIterator[None]:
        """Wait for our turn; `what` comes in such numbers, for whoever does not get in."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._free.acquire()
        except TimeoutError:
            later = random.randint(EARLIEST, LATEST)  # noqa: S311 -- no secret
            detail = f"too many {what} are under way here: try again in {later} s"
            raise Problem(503, "busy", detail, retry_after=later) from None
        try:
            yield
        finally:
            self._free.release()
