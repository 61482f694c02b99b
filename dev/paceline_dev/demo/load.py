"""The producer: the same load all the time, whatever happens to the runners."""

import asyncio
import time
from typing import Final

from paceline import NewJob, Queue
from paceline.database import Database

BEAT: Final = 0.1
SHARE: Final = 4
"""Every fourth job is for the group with a leader."""
SECONDS: Final = 0.2
"""How long a job takes."""


class Load:
    """Enqueues so many jobs a second into two pools until it is stopped."""

    def __init__(self, database: Database, rate: float, shared: str, led: str) -> None:
        """Prepare it; `run` produces."""
        self._database, self._pools = database, (shared, led)
        self._rate = rate
        self._stopped = False
        self.enqueued = 0

    def stop(self) -> None:
        """No more; what is on its way arrives."""
        self._stopped = True

    async def run(self) -> None:
        """Until it is stopped; what a slow moment delays is made up for."""
        began, wanted = time.monotonic(), 0
        while not self._stopped:
            due = int((time.monotonic() - began) * self._rate)
            for number in range(wanted, due):
                await self.add(1, SECONDS, pool=self._pools[number % SHARE == 0])
            wanted = due
            await asyncio.sleep(BEAT)

    async def add(self, count: int, seconds: float, *, pool: str | None = None) -> None:
        """Some jobs at once. Counted before they are sent: one that gets lost on the way is a lost one."""
        self.enqueued += count
        queue = Queue(self._database, pool or self._pools[0])
        await queue.enqueue_many([NewJob(kind="work", payload=seconds)] * count)
