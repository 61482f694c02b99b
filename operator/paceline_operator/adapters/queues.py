"""The databases that groups live in, found through their Secrets; those that name the same one share it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from paceline.operating import Office, Operating
from paceline_operator.adapters.bell import Bell
from paceline_operator.adapters.queue import Key, Queue, QueueTroubleError, Watcher
from paceline_operator.domain.reasons import Reason
from paceline_operator.ports.cluster import Cluster

FRESH_SECONDS: Final = 15.0
"""For so long a Secret that was read is believed."""


@dataclass(frozen=True, slots=True)
class _Secret:
    url: str
    listen: str
    read: float


class Queues:
    """All databases of an operator, found through the groups' Secrets."""

    def __init__(self, cluster: Cluster, office: Callable[[], Office], wake: Callable[[Key], None]) -> None:
        """`wake` is called when something of interest to a group has happened in its database."""
        self._cluster, self._office, self._wake = cluster, office, wake
        self._secrets: dict[tuple[str, str], _Secret] = {}
        self._queues: dict[tuple[str, str], Queue] = {}

    async def of(self, group: Key, secret: str, watcher: Watcher) -> Queue:
        """The database of a group. QueueTroubleError: its Secret is not there, or is no use."""
        read = await self._read(group[0], secret)
        found = self._queues.get(where := (read.url, read.listen))
        if found is None or group not in found.groups:
            await self.forget(group)  # it may have been in another one before
            found = self._queues.setdefault(where, Queue(read.url, Bell(read.listen), self._office(), self._wake))
            found.groups[group] = watcher
        return found

    async def _read(self, namespace: str, name: str) -> _Secret:
        known = self._secrets.get((namespace, name))
        if known is not None and time.monotonic() - known.read < FRESH_SECONDS:
            return known
        data = await self._cluster.read_secret(namespace, name)
        if data is None:
            raise QueueTroubleError(Reason.SECRET_MISSING, f'there is no Secret "{name}" in {namespace}: create it')
        if not (url := data.get("url", "").strip()):
            raise QueueTroubleError(Reason.SECRET_MISSING, f'Secret "{name}" has no key url: add the database\'s URL')
        read = _Secret(url, data.get("listenUrl", "").strip() or url, time.monotonic())
        self._secrets[namespace, name] = read
        return read

    def reachable(self) -> list[Operating]:
        """Those that answer now."""
        return [each.operating for each in self._queues.values() if each.operating is not None and each.trouble is None]

    async def forget(self, group: Key) -> None:
        """A group is gone; a database that nobody else uses is let go of."""
        for where, queue in list(self._queues.items()):
            queue.groups.pop(group, None)
            if not queue.groups and self._queues.get(where) is queue:
                del self._queues[where]
                await queue.close()

    async def close(self) -> None:
        """Let go of all of them."""
        await asyncio.gather(*(queue.close() for queue in self._queues.values()))
        self._queues.clear()
