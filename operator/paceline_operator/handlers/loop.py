"""One group's loop: wait for a wake, look, plan, act, report. A turn that fails is simply done again."""

import asyncio
import logging
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from pydantic import ValidationError

from paceline.errors import PacelineError
from paceline.operating import Operating, RegistrationSeen
from paceline_operator.adapters.queue import Key, QueueTroubleError
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.actions import CreatePod, CreateRunners
from paceline_operator.domain.failures import Memory
from paceline_operator.domain.lives import lives_of
from paceline_operator.domain.names import CLEANUP
from paceline_operator.domain.plan import Plan, cleanup_within, plan
from paceline_operator.domain.roll import watched_since
from paceline_operator.domain.scaling.told import DemandTold
from paceline_operator.domain.seen import GroupSeen, Outcomes
from paceline_operator.handlers.act import Actor, Outcome
from paceline_operator.handlers.look import look
from paceline_operator.handlers.membership import Membership
from paceline_operator.handlers.refusals import Refusals
from paceline_operator.handlers.reporter import Reporter, readable
from paceline_operator.handlers.services import Services
from paceline_operator.ports.resources import RUNNER_GROUP

log = logging.getLogger("paceline.operator")

RESYNC: Final = 15.0
BREATH: Final = 0.1
"""Between two turns: what comes in pairs, like the events of a pod that starts, is seen in one look."""
TURN_SECONDS: Final = 45.0


class GroupLoop:
    """Keeps one RunnerGroup as it is wanted."""

    def __init__(self, key: Key, services: Services) -> None:
        """For the group of that namespace and name."""
        self.key = key
        self.turned = time.monotonic()
        """When a turn last came to its end."""
        self._services = services
        self._woken = asyncio.Event()
        self._woken.set()
        self._memory = Memory()
        self._membership = Membership(key, services)
        self._reporter = Reporter(key, services)
        self._refusals = Refusals()
        self._log = logging.LoggerAdapter(log, {"namespace": key[0], "group": key[1]})

    def wake(self) -> None:
        """Something has happened."""
        self._woken.set()

    def demand(self, now: datetime) -> DemandTold:
        """What the group's queue wants. NoDemandError: that is not known."""
        return self._membership.demand(now)

    async def run(self) -> None:
        """Until the group is gone."""
        failures = 0
        while True:
            regular = not self._woken.is_set()
            self._woken.clear()
            began = time.monotonic()
            try:
                async with asyncio.timeout(TURN_SECONDS):
                    pause = await self._turn(regular=regular)
                failures = 0
            except (PacelineError, TimeoutError, ValidationError) as error:
                failures += 1
                self._services.metrics.errors.inc()
                self._log.warning("a turn failed: %s", str(error) or type(error).__name__)
                pause = min(RESYNC, 0.5 * 2.0 ** min(failures, 10))
            self._services.metrics.turns.observe(time.monotonic() - began)
            self.turned = time.monotonic()
            if pause is None:
                return
            await self._wait(pause)

    async def _wait(self, pause: float) -> None:
        await asyncio.sleep(BREATH)
        try:
            async with asyncio.timeout(max(0.0, pause - BREATH)):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _turn(self, *, regular: bool) -> float | None:
        """One turn; how long to wait before the next, None if the group is no more. `regular`: nothing has happened."""
        cluster = self._services.cluster
        raw = await cluster.get(RUNNER_GROUP, *self.key)
        if raw is None:
            await self._gone()
            return None
        try:
            group = readable(raw)
        except ValidationError as error:
            await self._reporter.refuse(raw, error)
            return RESYNC
        deleting = group.metadata.deletion_timestamp is not None
        if not deleting and CLEANUP not in group.metadata.finalizers:
            raw = await cluster.add_finalizer(RUNNER_GROUP, *self.key, CLEANUP, uid=group.metadata.uid) or raw
        operating, trouble = await self._database(group)
        if not deleting:
            await self._refusals.check(cluster, group, self._services.install)
        crew = self._membership.crew(self.turned) if regular and not deleting else None
        seen, made = await self._decide(group, operating, crew)
        if crew is not None and made.actions:  # nothing is done on the strength of what was so some seconds ago
            seen, made = await self._decide(group, operating)
        failed = made.memory.counted - self._memory.counted
        self._services.metrics.pods_failed.labels(*self.key).inc(len(failed))
        self._memory = made.memory
        outcome = await self._act(made, seen, operating)
        told = await self._reporter.report(
            raw, seen, made, outcome, trouble, self._refusals.why, self._membership.observed, self._membership.held
        )
        if deleting and await self._clean_up(seen, operating):
            return RESYNC
        return self._pause(made, outcome, seen.now) if told else 0.0

    async def _decide(
        self, group: RunnerGroup, operating: Operating | None, crew: Sequence[RegistrationSeen] | None = None
    ) -> tuple[GroupSeen, Plan]:
        services, member = self._services, self._membership
        seen = await look(services.cluster, group, operating, member.number, services.nodes, crew)
        seen = replace(
            seen,
            hold_starts=self._refusals.holds(seen.revision, seen.now),
            kept_taints=member.observed.taints if member.observed else "",
        )
        if (since := watched_since(seen)) is not None and operating is not None and member.number is not None:
            ended = await operating.outcomes(member.number, (seen.now - since) / timedelta(seconds=1))
            seen = replace(seen, outcomes={name: Outcomes(*each) for name, each in ended.items()})
        # runners beyond the size that an update has been given are not what the queue wanted
        current = max(0, sum(life.staying for life in lives_of(seen)) - self._memory.surge)
        seen = replace(seen, unread=member.unread, decided=member.decide(group, current, seen.now))
        return seen, plan(seen, self._memory)

    async def _database(self, group: RunnerGroup) -> tuple[Operating | None, QueueTroubleError | None]:
        try:
            return await self._membership.confirm(group), None
        except QueueTroubleError as trouble:
            return None, trouble

    async def _act(self, made: Plan, seen: GroupSeen, operating: Operating | None) -> Outcome:
        actor = Actor(self._services.cluster, operating, seen.group, self._membership.number, self._services.install)
        outcome = await actor.carry_out(made.actions, seen)
        if change := len(outcome.created) - len(outcome.retired):
            self._membership.scaler.carried_out(change, seen.now)
        tried = any(isinstance(each, CreateRunners | CreatePod) for each in made.actions)
        self._refusals.note(outcome.refused, seen.revision, seen.now, tried=tried)
        return outcome

    async def _clean_up(self, seen: GroupSeen, operating: Operating | None) -> bool:
        """A deleted group goes when all have drained, or its time is over; its jobs stay where they are."""
        meta = seen.group.metadata
        assert meta.deletion_timestamp is not None
        late = seen.now >= meta.deletion_timestamp + cleanup_within(seen)
        waiting = any(each.incarnation is not None and not each.external for each in seen.registrations or ())
        there = any(each.owned and not each.external for each in seen.runners)
        if (there or seen.pods or waiting) and not late:
            return False
        if operating is not None and self._membership.number is not None:
            await operating.delete_group(self._membership.number)
        elif not late and self._membership.known:
            return False  # the database may come back in time
        await self._services.cluster.remove_finalizer(RUNNER_GROUP, *self.key, CLEANUP, uid=meta.uid)
        self.wake()
        return True

    async def _gone(self) -> None:
        self._services.metrics.forget(*self.key)
        await self._services.queues.forget(self.key)

    def _pause(self, made: Plan, outcome: Outcome, now: datetime) -> float:
        if outcome.again:
            return 0.0
        moments = [each for each in (made.again_at, self._refusals.until) if each is not None]
        resync = RESYNC * random.uniform(0.9, 1.0)  # noqa: S311 -- so that not all groups look at once
        return min([resync, *(max(0.0, (each - now) / timedelta(seconds=1)) for each in moments)])
