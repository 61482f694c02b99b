"""One database, as its groups see it: a small pool of connections, and one that listens.

It is asked once a second, whatever the number of its groups: how they stand, in one call that also does the
housekeeping, every tenth time who is in them, and once a minute who keeps vacuum from its work; at once when there is
work for a group without runners. A database that does not answer keeps nobody waiting: its groups are told, and hear of
it again when it is back.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Protocol

from paceline.database import Database
from paceline.errors import (
    DatabaseError,
    InvalidInputError,
    NotAllowedError,
    NotFoundError,
    NotInOfficeError,
    PacelineError,
    SchemaError,
)
from paceline.operating import FAR, GroupObserved, Office, Operating, RegistrationSeen
from paceline.reading import Reader
from paceline.scaling import ScalingKept
from paceline_operator.adapters.bell import Bell
from paceline_operator.domain.held import Held
from paceline_operator.domain.reasons import Reason

log = logging.getLogger("paceline.operator")

CONNECTIONS: Final = 2
LOOK_SECONDS: Final = 1.1
"""A little over a second: with what is asked besides, an idle operator stays below one question a second."""
BREATH: Final = 0.05
"""Between two looks, however often the bell rings."""
CREWS_EVERY: Final = 10
"""Every so many looks the one for the groups' regular turns: with 50 groups, these would ask three times a second."""
HEALTH_SECONDS: Final = 60.0
"""So often it is asked who keeps vacuum from its work: what matters has lasted for a quarter of an hour."""
HELD_FROM: Final = 10.0
"""Whoever has kept vacuum from its work for fewer seconds is not worth a mention."""
ASLEEP_SECONDS: Final = 20.0
"""So often the database is told who is asleep; it remembers for a minute."""
ANSWER_SECONDS: Final = 10.0
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


class Watcher(Protocol):
    """Somebody who follows how a group stands, and decides its size by it."""

    @property
    def asleep(self) -> bool:
        """There is no runner, and work shall be heard of at once."""

    @property
    def depth(self) -> int:
        """How many waiting jobs have to be counted."""

    def news(self, observed: GroupObserved, now: datetime) -> bool:
        """The queue was looked at; whether the group's loop has something to do."""

    def unsaved(self, number: int, now: datetime) -> ScalingKept | None:
        """What the database should keep, if that is anything new."""

    def saved(self, kept: ScalingKept, now: datetime) -> None:
        """The database has it."""


@dataclass
class Queue:
    """One database, as its groups see it."""

    url: str = field(repr=False)
    bell: Bell
    office: Office
    wake: Callable[[Key], None]
    groups: dict[Key, Watcher] = field(default_factory=dict)
    """Who uses it."""
    seen: dict[Key, GroupObserved] = field(default_factory=dict)
    read_at: datetime | None = None
    """When `seen` was asked for."""
    held: Held = field(default_factory=Held)
    trouble: QueueTroubleError | None = None
    operating: Operating | None = None
    _database: Database | None = None
    _task: "asyncio.Task[None] | None" = None
    _first: asyncio.Event = field(default_factory=asyncio.Event)
    _looks: int = 0
    _crews: dict[int, list[RegistrationSeen]] = field(default_factory=dict)
    _crews_at: float = 0.0
    _health_at: float = -HEALTH_SECONDS
    _asleep: frozenset[int] = frozenset()
    _asleep_at: float = 0.0
    _soon: bool = False

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
            except Exception as error:
                log.exception("a look at a database broke: the next one begins anew")
                self._fail(trouble_of(error))
            self._first.set()
            await self._wait(began)

    async def _wait(self, began: float) -> None:
        """Until the next look is due, or the bell rings for somebody who is asleep."""
        await asyncio.sleep(BREATH)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(BREATH, LOOK_SECONDS - (time.monotonic() - began))):
                while not (self.bell.rung.is_set() and (self._asleep or self._soon)):
                    self.bell.rung.clear()
                    await self.bell.rung.wait()

    def look_soon(self) -> None:
        """There is something to be seen."""
        self._soon = True
        self.bell.rung.set()

    async def _look(self, operating: Operating) -> None:
        self._looks += 1
        rung = self.bell.rung.is_set()
        self.bell.rung.clear()
        self._soon = False
        numbers = sorted(self.seen[key].id for key in self.groups if key in self.seen)
        if self._looks % CREWS_EVERY or rung or not numbers or self.trouble is not None:
            cap = max([FAR, *(each.depth for each in self.groups.values())])
            asked_at = datetime.now(UTC)
            self._note(await operating.observe(self.office.install, self._sleepers(), cap))
            self.read_at = asked_at
            await self._keep(operating)
            await self._ask_for_health()
            if any(each.cron_due for each in self.seen.values()):
                await operating.fire_cron()
                self.look_soon()
            return
        asked = time.monotonic()
        try:
            self._crews, self._crews_at = await operating.look_at_groups(numbers), asked
        except (NotFoundError, NotAllowedError):
            self._crews = {}  # a group is no more, or no longer ours: this time each asks by itself

    async def _ask_for_health(self) -> None:
        now = time.monotonic()
        if self._database is None or now < self._health_at + HEALTH_SECONDS:
            return
        self.held.note((await Reader(self._database).health(HELD_FROM)).holders, now)
        self._health_at = now

    def crew_of(self, group: int, since: float) -> list[RegistrationSeen] | None:
        """Who is in a group, as last asked for all of them; None if that was not after `since`."""
        return self._crews.get(group) if self._crews_at > since else None

    async def _opened(self) -> Operating:
        if self._database is None:
            self._database = await Database.open(self.url, size=CONNECTIONS, application="paceline-operator")
        if self.operating is None:
            operating = Operating(self._database, self.office)
            await operating.require_schema()
            self.operating = operating
        return self.operating

    def _sleepers(self) -> frozenset[int]:
        """Groups that want to be woken, as often as the database has to be told."""
        asleep = frozenset(self.seen[key].id for key, each in self.groups.items() if each.asleep and key in self.seen)
        if asleep:
            self.bell.hang()
        told, self._asleep, now = self._asleep, asleep, time.monotonic()
        if asleep <= told and now - self._asleep_at < ASLEEP_SECONDS:
            return frozenset()
        self._asleep_at = now
        return asleep

    async def _keep(self, operating: Operating) -> None:
        """What the sizes were decided by, all that is new in one call."""
        now = datetime.now(UTC)
        found = [
            (watcher, kept)
            for key, watcher in self.groups.items()
            if key in self.seen and (kept := watcher.unsaved(self.seen[key].id, now)) is not None
        ]
        if found:
            with contextlib.suppress(NotInOfficeError):  # another one has looked and decided since
                await operating.keep_scaling([kept for _, kept in found])
            for watcher, kept in found:
                watcher.saved(kept, now)

    def _note(self, found: list[GroupObserved]) -> None:
        now = {(each.namespace, each.name): each for each in found}
        before, self.seen = self.seen, now
        if self.trouble is not None:
            log.info("a database answers again")
            self.trouble = None
            changed = set(self.groups)
        else:
            changed = {key for key in self.groups if _news(before.get(key), now.get(key))}
        moment = datetime.now(UTC)
        changed |= {key for key, each in self.groups.items() if key in now and each.news(now[key], moment)}
        for key in changed:
            self.wake(key)

    def _fail(self, trouble: QueueTroubleError) -> None:
        if self.trouble is None or str(self.trouble) != str(trouble):
            log.warning("a database cannot be used: %s", trouble)
            for key in self.groups:
                self.wake(key)
        self.trouble = trouble
        self._asleep = frozenset()  # it may not have heard of them

    async def close(self) -> None:
        """Let go of it."""
        await self.bell.take_down()
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
