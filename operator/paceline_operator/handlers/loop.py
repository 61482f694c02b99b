"""One group's loop: wait for a wake, look, plan, act, report. A turn that fails is simply done again."""

import asyncio
import logging
import random
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from pydantic import ValidationError

from paceline.errors import DatabaseError, NotAllowedError, NotFoundError, PacelineError, PoolConflictError, SchemaError
from paceline.operating import GroupObserved, Operating
from paceline_operator.adapters.queues import Key, QueueTroubleError, trouble_of
from paceline_operator.api.schema import JsonDict
from paceline_operator.api.v1alpha1 import Leader, QueueStatus, Runner, RunnerGroup, RunnerGroupStatus, RunnerStatus
from paceline_operator.domain.actions import CreatePod, CreateRunners
from paceline_operator.domain.failures import Failures, Memory
from paceline_operator.domain.levers import is_paused
from paceline_operator.domain.names import CLEANUP
from paceline_operator.domain.plan import Plan, cleanup_within, plan
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.revision import revision_of
from paceline_operator.domain.report import Trouble, count, report_group, report_runner
from paceline_operator.domain.seen import GroupSeen
from paceline_operator.handlers.act import Actor, Outcome
from paceline_operator.handlers.look import look
from paceline_operator.handlers.services import Services
from paceline_operator.handlers.tell import tell_outcome, tell_status
from paceline_operator.ports.cluster import Manifest
from paceline_operator.ports.errors import ConflictError
from paceline_operator.ports.resources import RUNNER, RUNNER_GROUP

log = logging.getLogger("paceline.operator")

RESYNC: Final = 15.0
BREATH: Final = 0.1
"""Between two turns: what comes in pairs, like the events of a pod that starts, is seen in one look."""
TURN_SECONDS: Final = 45.0
NUMBERS_SECONDS: Final = 5.0
"""So often at most the numbers of the queue are written."""


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
        self._put: object = None
        self._number: int | None = None
        self._hold: Failures | None = None
        self._refused: tuple[Reason, str] | None = None
        self._numbers_at = 0.0
        self._log = logging.LoggerAdapter(log, {"namespace": key[0], "group": key[1]})

    def wake(self) -> None:
        """Something has happened."""
        self._woken.set()

    async def run(self) -> None:
        """Until the group is gone."""
        failures = 0
        while True:
            self._woken.clear()
            began = time.monotonic()
            pause: float | None
            try:
                async with asyncio.timeout(TURN_SECONDS):
                    pause = await self._turn()
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

    async def _turn(self) -> float | None:
        """One turn; how long to wait before the next, None if the group is no more."""
        services = self._services
        raw = await services.cluster.get(RUNNER_GROUP, *self.key)
        if raw is None:
            await self._gone()
            return None
        group = await self._read(raw)
        if group is None:
            return RESYNC
        if group.metadata.deletion_timestamp is None and CLEANUP not in group.metadata.finalizers:
            await services.cluster.add_finalizer(RUNNER_GROUP, *self.key, CLEANUP, uid=group.metadata.uid)
        operating, trouble = await self._queue(group)
        seen = await look(services.cluster, group, operating, self._number, services.nodes)
        seen = self._held(seen)
        made = plan(seen, self._memory)
        self._memory = made.memory
        outcome = Outcome()
        if operating is not None and self._number is not None:
            actor = Actor(services.cluster, operating, group, self._number, services.install)
            outcome = await actor.carry_out(made.actions, seen)
            self._note_refusal(outcome, seen.now)
        await self._report(raw, seen, made, trouble, outcome)
        if group.metadata.deletion_timestamp is not None and await self._clean_up(group, seen, operating):
            return RESYNC
        return self._pause(made, outcome, seen.now)

    async def _read(self, raw: Manifest) -> RunnerGroup | None:
        """The group, or None if it cannot be read; then its Ready condition says why."""
        try:
            return RunnerGroup.model_validate(raw)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            message = (
                f"{where}: {first['msg']}: this operator cannot read the object; correct it, or upgrade the operator"
            )
            condition: JsonDict = {
                "type": "Ready", "status": "False", "reason": Reason.INVALID, "message": message,
                "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "observedGeneration": raw["metadata"].get("generation", 0),
            }  # fmt: skip
            there = [each for each in raw.get("status", {}).get("conditions", []) if each.get("type") == "Ready"]
            if not there or there[0].get("message") != message:
                await self._services.cluster.patch_status(
                    RUNNER_GROUP, *self.key, {"conditions": [condition]}, uid=raw["metadata"]["uid"]
                )
            return None

    async def _queue(self, group: RunnerGroup) -> tuple[Operating | None, QueueTroubleError | None]:
        """The group's database, with the group in it; or why it cannot be used."""
        deleting = group.metadata.deletion_timestamp is not None
        try:
            try:
                queue = await self._services.queues.of(self.key, group.spec.database.secret_ref.name)
            except QueueTroubleError:
                known = self._services.queues.last_known(self.key) if deleting else None
                if known is None:
                    raise
                queue = known
            operating = await queue.ready()
            wanted = (
                queue.url, group.pool, group.spec.dispatch, group.spec.slots, group.spec.tags, is_paused(group), revision_of(group),
            )  # fmt: skip
            if self._put != wanted or self._number is None or self.key not in queue.seen:
                self._number = await operating.put_group(
                    install=self._services.install, namespace=self.key[0], name=self.key[1], pool=group.pool,
                    leader=group.spec.dispatch == "Leader", slots=group.spec.slots, tags=group.spec.tags,
                    paused=is_paused(group),
                )  # fmt: skip
                await operating.set_revision(self._number, revision_of(group))
                self._put = wanted
        except PoolConflictError as error:
            return None, QueueTroubleError(Reason.POOL_CONFLICT, str(error))
        except (NotAllowedError, NotFoundError) as error:
            return None, QueueTroubleError(Reason.REFUSED, str(error))
        except (QueueTroubleError, DatabaseError, SchemaError, TimeoutError) as error:
            return None, trouble_of(error)
        return operating, None

    def _held(self, seen: GroupSeen) -> GroupSeen:
        """After a refusal no pod is tried for a while; a changed spec is tried at once."""
        if self._hold is not None and seen.now >= self._hold.wait_until():
            self._refused = None
        return replace(seen, hold_starts=self._refused is not None)

    def _note_refusal(self, outcome: Outcome, now: datetime) -> None:
        if outcome.refused is not None:
            self._refused = outcome.refused
            self._hold = Failures(1 + max(3, self._hold.count if self._hold else 0), now)
        elif outcome.done[CreateRunners] or outcome.done[CreatePod]:
            self._hold = self._refused = None

    async def _report(
        self, raw: Manifest, seen: GroupSeen, made: Plan, trouble: QueueTroubleError | None, outcome: Outcome
    ) -> None:
        services, group = self._services, seen.group
        queue = services.queues.last_known(self.key)
        observed = queue.seen.get(self.key) if queue is not None and trouble is None else None
        status = report_group(
            seen,
            made,
            Trouble(
                queue=(trouble.reason, str(trouble)) if trouble else None,
                start=outcome.refused or self._refused,
                shared_login=group.spec.database.runner_secret_ref is None,
            ),
            self._numbers(group.status, observed),
            Leader(runner=observed.leader, epoch=observed.epoch) if observed else group.status.leader,
        )
        self._measure(made, observed, trouble)
        await tell_outcome(services, raw, outcome, made)
        if status != group.status:
            await self._write(raw, status)
            await tell_status(services, raw, group.status, status)
        for life in made.lives:
            told = report_runner(life, seen)
            if told is not None and life.runner.resource is not None:
                await self._write_runner(life.runner.resource, told)

    async def _write(self, raw: Manifest, status: RunnerGroupStatus) -> None:
        body = status.model_dump(mode="json", by_alias=True, exclude_none=True)
        await self._services.cluster.patch_status(RUNNER_GROUP, *self.key, body, uid=raw["metadata"]["uid"])

    async def _write_runner(self, runner: Runner, status: RunnerStatus) -> None:
        meta = runner.metadata
        body = status.model_dump(mode="json", by_alias=True, exclude_none=True)
        try:
            await self._services.cluster.patch_status(
                RUNNER, meta.namespace, meta.name, body, uid=meta.uid, resource_version=meta.resource_version
            )
        except ConflictError:
            self.wake()  # somebody wrote to it meanwhile: look again

    def _numbers(self, old: RunnerGroupStatus, observed: GroupObserved | None) -> QueueStatus | None:
        if observed is None:
            return old.queue
        fresh = QueueStatus(
            ready=observed.ready, running=observed.running, scheduled=observed.scheduled, blocked=observed.blocked,
            unclaimable=observed.unclaimable, dead=observed.dead,
            oldest_seconds=None if observed.oldest_seconds is None else int(observed.oldest_seconds),
        )  # fmt: skip
        now = time.monotonic()
        if fresh == old.queue or now - self._numbers_at < NUMBERS_SECONDS:
            return old.queue or fresh
        self._numbers_at = now
        return fresh

    def _measure(self, made: Plan, observed: GroupObserved | None, trouble: QueueTroubleError | None) -> None:
        metrics, (namespace, name) = self._services.metrics, self.key
        counts = count(made.lives)
        states = {"ready": counts.ready, "busy": counts.busy, "pending": counts.pending, "leaving": counts.leaving}
        for state, number in states.items():
            metrics.runners.labels(namespace, name, state).set(number)
        metrics.wanted.labels(namespace, name).set(made.size)
        metrics.reachable.labels(namespace, name).set(trouble is None)
        if observed is not None:
            metrics.ready_jobs.labels(namespace, name).set(observed.ready)
            metrics.oldest.labels(namespace, name).set(observed.oldest_seconds or 0)

    async def _clean_up(self, group: RunnerGroup, seen: GroupSeen, operating: Operating | None) -> bool:
        """A deleted group goes when all have drained, or its time is over; its jobs stay where they are."""
        deleted = group.metadata.deletion_timestamp
        assert deleted is not None
        late = seen.now >= deleted + cleanup_within(seen)
        waiting = any(each.incarnation is not None and not each.external for each in seen.registrations or ())
        if (seen.runners or seen.pods or waiting) and not late:
            return False
        if operating is not None and self._number is not None:
            await operating.delete_group(self._number)
        elif not late and self._services.queues.last_known(self.key) is not None:
            return False  # the database may come back in time
        await self._services.cluster.remove_finalizer(RUNNER_GROUP, *self.key, CLEANUP, uid=group.metadata.uid)
        self.wake()
        return True

    async def _gone(self) -> None:
        self._services.metrics.forget(*self.key)
        await self._services.queues.forget(self.key)

    def _pause(self, made: Plan, outcome: Outcome, now: datetime) -> float:
        if outcome.again:
            return 0.0
        moments = [RESYNC * random.uniform(0.9, 1.0)]  # noqa: S311 -- so that not all groups look at once
        if made.again_at is not None:
            moments.append(max(0.0, (made.again_at - now) / timedelta(seconds=1)))
        if self._refused is not None and self._hold is not None:
            moments.append(max(0.0, (self._hold.wait_until() - now) / timedelta(seconds=1)))
        return min(moments)
