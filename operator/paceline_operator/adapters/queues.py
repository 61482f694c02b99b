"""The databases that groups live in: one small pool of connections for each, shared by all groups that name it.

Each database is asked once a second, whatever the number of its groups: how they stand, in one call that also does the
housekeeping, and every tenth time who is in them. A database that does not answer keeps nobody waiting: its groups are
told, and hear of it again when it is back.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from paceline.database import Database
from paceline.errors import (
    DatabaseError,
    InvalidInputError,
    NotAllowedError,
    NotFoundError,
    PacelineError,
    SchemaError,
)
from paceline.operating import GroupObserved, Office, Operating, RegistrationSeen
from paceline_operator.domain.reasons import Reason
from paceline_operator.ports.cluster import Cluster

log = logging.getLogger("paceline.operator")

CONNECTIONS: Final = 2
LOOK_SECONDS: Final = 1.1
"""A little over a second: with what is asked besides, an idle operator stays below one question a second."""
CREWS_EVERY: Final = 10
"""Every so many looks the one for the groups' regular turns: with 50 groups, these would ask three times a second."""
ANSWER_SECONDS: Final = 10.0
FRESH_SECONDS: Final = 15.0
"""For so long a Secret that was read is believed."""
Key = tuple[str, str]
"""Namespace and name of a group."""


class QueueTroubleError(PacelineError):
    """A database cannot be used now; `reason` and the message are what its groups report."""

    def __init__(self, reason: Reason, message: str) -> None:
        """Say why."""
        super().__init__(message)
        self.reason = reason


def trouble_of(error: Exception) -> QueueTroubleError:
    """What an error means for those who wanted to use the database."""
    match error:
        case QueueTroubleError():
            return error
        case SchemaError():
            return QueueTroubleError(Reason.SCHEMA_TOO_OLD, str(error))
        case InvalidInputError():
            return QueueTroubleError(Reason.SECRET_INVALID, str(error))
        case TimeoutError():
            return QueueTroubleError(Reason.UNREACHABLE, f"the database has not answered within {ANSWER_SECONDS:g} s")
        case _:
            return QueueTroubleError(Reason.UNREACHABLE, str(error))


@dataclass(slots=True)
class _Secret:
    url: str
    read: float


@dataclass
class Queue:
    """One database, as its groups see it."""

    url: str = field(repr=False)
    office: Office
    wake: Callable[[Key], None]
    groups: set[Key] = field(default_factory=set)
    """Who uses it."""
    seen: dict[Key, GroupObserved] = field(default_factory=dict)
    trouble: QueueTroubleError | None = None
    operating: Operating | None = None
    _database: Database | None = None
    _task: "asyncio.Task[None] | None" = None
    _first: asyncio.Event = field(default_factory=asyncio.Event)
    _looks: int = 0
    _crews: dict[int, list[RegistrationSeen]] = field(default_factory=dict)
    _crews_at: float = 0.0

    async def ready(self) -> Operating:
        """How to operate it; QueueTroubleError while it does not answer."""
        if self._task is None:
            self._task = asyncio.create_task(self._watch())
        await self._first.wait()
        if self.trouble is not None:
            raise self.trouble
        assert self.operating is not None
        return self.operating

    async def _watch(self) -> None:
        while True:
            began = time.monotonic()
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._look(await self._opened())
            except (PacelineError, TimeoutError, OSError) as error:
                self._fail(trouble_of(error))
            self._first.set()
            await asyncio.sleep(max(0.1, LOOK_SECONDS - (time.monotonic() - began)))

    async def _look(self, operating: Operating) -> None:
        self._looks += 1
        numbers = sorted(self.seen[key].id for key in self.groups if key in self.seen)
        if self._looks % CREWS_EVERY or not numbers or self.trouble is not None:
            self._note(await operating.observe(self.office.install))
            return
        asked = time.monotonic()
        try:
            self._crews, self._crews_at = await operating.look_at_groups(numbers), asked
        except (NotFoundError, NotAllowedError):
            self._crews = {}  # a group is no more, or no longer ours: this time each asks by itself

    def crew_of(self, group: int, since: float) -> list[RegistrationSeen] | None:
        """Who is in a group, as last asked for all of them; None if that was not after `since`."""
        return self._crews.get(group) if self._crews_at > since else None

    async def _opened(self) -> Operating:
        if self._database is None:
            self._database = await Database.open(self.url, size=CONNECTIONS, application="paceline-operator")
            self.operating = Operating(self._database, self.office)
        assert self.operating is not None
        return self.operating

    def _note(self, found: list[GroupObserved]) -> None:
        now = {(each.namespace, each.name): each for each in found}
        before, self.seen = self.seen, now
        if self.trouble is not None:
            log.info("a database answers again")
            self.trouble = None
            changed = self.groups.copy()
        else:
            changed = {key for key in self.groups if _news(before.get(key), now.get(key))}
        for key in changed:
            self.wake(key)

    def _fail(self, trouble: QueueTroubleError) -> None:
        if self.trouble is None or str(self.trouble) != str(trouble):
            log.warning("a database cannot be used: %s", trouble)
            for key in self.groups:
                self.wake(key)
        self.trouble = trouble

    async def close(self) -> None:
        """Let go of it."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self._database is not None:
            try:
                async with asyncio.timeout(2):
                    await self._database.close()
            except (DatabaseError, TimeoutError):
                self._database.terminate()


def _news(before: GroupObserved | None, now: GroupObserved | None) -> bool:
    """Whether a group's loop should look. How much waits and runs is reported with the next look, whenever that is."""
    if before is None or now is None:
        return before is not now
    return any(
        getattr(before, name) != getattr(now, name)
        for name in ("registered", "draining", "newest", "leader", "epoch", "paused", "taints")
    )


class Queues:
    """All databases of an operator, found through the groups' Secrets."""

    def __init__(self, cluster: Cluster, office: Callable[[], Office], wake: Callable[[Key], None]) -> None:
        """`wake` is called when something of interest to a group has happened in its database."""
        self._cluster, self._office, self._wake = cluster, office, wake
        self._secrets: dict[tuple[str, str], _Secret] = {}
        self._queues: dict[str, Queue] = {}

    async def of(self, group: Key, secret: str) -> Queue:
        """The database of a group. QueueTroubleError: its Secret is not there, or is no use."""
        url = await self._url(group[0], secret)
        found = self._queues.get(url)
        if found is None or group not in found.groups:
            await self.forget(group)  # it may have been in another one before
            found = self._queues.setdefault(url, Queue(url, self._office(), self._wake))
            found.groups.add(group)
        return found

    async def _url(self, namespace: str, name: str) -> str:
        known = self._secrets.get((namespace, name))
        if known is not None and time.monotonic() - known.read < FRESH_SECONDS:
            return known.url
        data = await self._cluster.read_secret(namespace, name)
        if data is None:
            raise QueueTroubleError(Reason.SECRET_MISSING, f'there is no Secret "{name}" in {namespace}: create it')
        if not (url := data.get("url", "").strip()):
            raise QueueTroubleError(Reason.SECRET_MISSING, f'Secret "{name}" has no key url: add the database\'s URL')
        self._secrets[namespace, name] = _Secret(url, time.monotonic())
        return url

    def reachable(self) -> list[Operating]:
        """Those that answer now."""
        return [each.operating for each in self._queues.values() if each.operating is not None and each.trouble is None]

    async def forget(self, group: Key) -> None:
        """A group is gone; a database that nobody else uses is let go of."""
        for url, queue in list(self._queues.items()):
            queue.groups.discard(group)
            if not queue.groups and self._queues.get(url) is queue:
                del self._queues[url]
                await queue.close()

    async def close(self) -> None:
        """Let go of all of them."""
        await asyncio.gather(*(queue.close() for queue in self._queues.values()))
        self._queues.clear()
