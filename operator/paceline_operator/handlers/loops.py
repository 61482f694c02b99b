"""All groups' loops: each starts when its group is first seen and ends when the group is gone."""

import asyncio
import logging
import time
from datetime import datetime
from typing import Final

from paceline_operator.adapters.queue import Key
from paceline_operator.domain.scaling.told import DemandTold, NoDemandError
from paceline_operator.handlers.loop import GroupLoop
from paceline_operator.handlers.services import Services

log = logging.getLogger("paceline.operator")
STUCK: Final = 60.0


class Loops:
    """Wakes loops by the name of their group."""

    def __init__(self) -> None:
        """Begin with none."""
        self._services: Services | None = None
        self._known: set[Key] = set()
        self._loops: dict[Key, GroupLoop] = {}
        self._tasks: dict[Key, asyncio.Task[None]] = {}

    def begin(self, services: Services) -> None:
        """From now on loops turn: those of all groups that have been seen so far, and of all that come."""
        self._services = services
        for key in self._known:
            self.group_seen(key)

    def group_seen(self, key: Key) -> None:
        """A RunnerGroup is there or has changed: its loop looks."""
        self._known.add(key)
        if self._services is None:
            return
        if key not in self._loops:
            self._loops[key] = GroupLoop(key, self._services)
            self._tasks[key] = asyncio.create_task(self._run(key), name=f"group {key[0]}/{key[1]}")
        self._loops[key].wake()

    def wake(self, key: Key) -> None:
        """Something of a group has changed; what belongs to no group that we know is nobody's business."""
        if loop := self._loops.get(key):
            loop.wake()

    def wake_all(self) -> None:
        """Something has changed that may matter to any of them."""
        for loop in self._loops.values():
            loop.wake()

    async def _run(self, key: Key) -> None:
        try:
            await self._loops[key].run()
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("the loop of %s/%s broke: it begins anew", *key)
            await asyncio.sleep(1)
            self._tasks[key] = asyncio.create_task(self._run(key))
            return
        del self._loops[key], self._tasks[key]
        self._known.discard(key)

    def demand(self, key: Key, now: datetime) -> DemandTold:
        """What the queue of a group wants. NoDemandError: there is no such group, or it is not known."""
        if loop := self._loops.get(key):
            return loop.demand(now)
        raise NoDemandError(f"there is no RunnerGroup {key[0]}/{key[1]} that this operator looks after", missing=True)

    def stuck(self) -> list[str]:
        """Groups whose loop has not turned for a minute."""
        now = time.monotonic()
        return sorted(f"{key[0]}/{key[1]}" for key, loop in self._loops.items() if now - loop.turned > STUCK)

    async def end(self) -> None:
        """End all loops, until they begin again."""
        self._services = None
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._loops.clear()
        self._tasks.clear()
