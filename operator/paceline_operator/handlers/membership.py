"""A group's place in its database: found through its Secret, kept up to date, and given up at its end."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime

from paceline.errors import DatabaseError, NotAllowedError, NotFoundError, PoolConflictError, SchemaError
from paceline.operating import GroupObserved, Operating, RegistrationSeen
from paceline_operator.adapters.queue import Key, Queue, QueueTroubleError, trouble_of
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.levers import is_paused
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.revision import target_of
from paceline_operator.domain.scaling.decide import Decision
from paceline_operator.domain.scaling.told import DemandTold
from paceline_operator.domain.taints import Taints, declared
from paceline_operator.handlers.scaler import Scaler
from paceline_operator.handlers.services import Services


class Membership:
    """Of one group."""

    def __init__(self, key: Key, services: Services) -> None:
        """For the group of that namespace and name."""
        self._key, self._services = key, services
        self.scaler = Scaler()
        self.unread: datetime | None = None
        """Since when the queue cannot be read; None while it can."""
        self._put: object = None
        self._queue: Queue | None = None
        self.number: int | None = None
        """The group's, once it is in the database."""

    async def confirm(self, group: RunnerGroup) -> Operating:
        """See to it that the database knows the group as it is now. QueueTroubleError: it cannot be used."""
        try:
            operating = await self._confirm(group)
        except QueueTroubleError:
            self.unread = self.unread or datetime.now(UTC)
            raise
        self.unread = None
        return operating

    async def _confirm(self, group: RunnerGroup) -> Operating:
        try:
            self._queue = await self._find(group)
            operating = await self._queue.ready()
            taints = declared(group).by_source
            wanted = (self._queue.url, group.pool, group.spec.dispatch, group.spec.slots, group.spec.tags,
                      is_paused(group), target_of(group), taints, _weight(group))  # fmt: skip
            if self._put != wanted or self.number is None or self._key not in self._queue.seen:
                await self._write(operating, group, taints)
                self._put = wanted
                self._queue.look_soon()
        except PoolConflictError as error:
            raise QueueTroubleError(Reason.POOL_CONFLICT, str(error)) from None
        except (NotAllowedError, NotFoundError) as error:
            raise QueueTroubleError(Reason.REFUSED, str(error)) from None
        except (DatabaseError, SchemaError, TimeoutError) as error:
            raise trouble_of(error) from None
        return operating

    def decide(self, group: RunnerGroup, current: int, now: datetime) -> Decision | None:
        """The size of a group that has `current` runners; when the last has gone, work is listened for at once."""
        awake = not self.scaler.asleep
        decided = self.scaler.turn(group, current, self.observed, self.unread, now)
        if awake and self.scaler.asleep and self._queue is not None:
            self._queue.look_soon()
        return decided

    async def _find(self, group: RunnerGroup) -> Queue:
        """By the Secret; a namespace that is being deleted may have lost it before its groups."""
        try:
            return await self._services.queues.of(self._key, group.spec.database.secret_ref.name, self.scaler)
        except QueueTroubleError:
            if group.metadata.deletion_timestamp is None or self._queue is None:
                raise
            return self._queue

    async def _write(self, operating: Operating, group: RunnerGroup, taints: Mapping[str, Taints]) -> None:
        if group.metadata.deletion_timestamp is not None and self.number is not None:
            return
        self.number = await operating.put_group(
            install=self._services.install, namespace=self._key[0], name=self._key[1], pool=group.pool,
            leader=group.spec.dispatch == "Leader", slots=group.spec.slots, tags=group.spec.tags,
            paused=is_paused(group),
        )  # fmt: skip
        await operating.set_revision(self.number, target_of(group))
        for source, each in taints.items():  # also none: those from before may be there
            await operating.taint_group(self.number, source, sorted(each))
        kept = await operating.put_scaling(self.number, _weight(group))
        if self._put is None:
            self.scaler.remember(kept, datetime.now(UTC))

    def crew(self, since: float) -> list[RegistrationSeen] | None:
        """Who is in the group, if the database was asked for all groups after `since`."""
        if self._queue is None or self.number is None:
            return None
        return self._queue.crew_of(self.number, since)

    @property
    def known(self) -> bool:
        """Whether the database has ever been found."""
        return self._queue is not None

    @property
    def observed(self) -> GroupObserved | None:
        """How the group stands, as the database was last seen; None while it is not known."""
        return None if self._queue is None or self._queue.trouble is not None else self._queue.seen.get(self._key)

    @property
    def held(self) -> float:
        """For how many seconds somebody has kept vacuum from the database's dead rows."""
        return 0.0 if self._queue is None else self._queue.held.seconds(time.monotonic())

    def demand(self, now: datetime) -> DemandTold:
        """What the queue wants, as it was last read. NoDemandError: that is not known."""
        read = self._queue.read_at if self._queue is not None and self.observed and self.unread is None else None
        return self.scaler.tell(read, now)


def _weight(group: RunnerGroup) -> int:
    """How much of the jobs that others could claim too is this group's: as much as it may grow."""
    scaling = group.spec.autoscaling
    return group.spec.replicas if scaling is None or scaling.mode == "Off" else scaling.max_replicas
