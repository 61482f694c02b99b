"""The end of a grace period, which a node that leaves may bring nearer."""

import asyncio
import time
from typing import Any


class Deadline:
    """A moment on the monotonic clock that can only come nearer."""

    def __init__(self, seconds: float) -> None:
        """So many seconds from now."""
        self.at = time.monotonic() + seconds
        self._nearer = asyncio.Event()

    def shorten(self, seconds: float) -> None:
        """At most so many seconds from now."""
        if (at := time.monotonic() + seconds) < self.at:
            self.at = at
            self._nearer.set()
            self._nearer = asyncio.Event()

    @property
    def left(self) -> float:
        """Seconds until then, never negative."""
        return max(self.at - time.monotonic(), 0.0)

    async def wait(self, floor: float = 0.0) -> None:
        """Until it has passed; `floor` is a moment before which it does not count."""
        while (left := max(self.at, floor) - time.monotonic()) > 0:
            nearer = self._nearer
            try:
                async with asyncio.timeout(left):
                    await nearer.wait()
            except TimeoutError:
                return

    async def cut(self, *waits: "asyncio.Future[Any]", floor: float = 0.0) -> bool:
        """Wait for the first of these, but not past the deadline; whether one came. None is cancelled."""
        end = asyncio.ensure_future(self.wait(floor))
        try:
            await asyncio.wait({*waits, end}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            end.cancel()
        return any(each.done() for each in waits)
