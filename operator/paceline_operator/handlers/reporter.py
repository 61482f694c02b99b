"""What is written about a group: its status and its Runners', events and metrics; only what has changed."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from pydantic import ValidationError

from paceline.operating import GroupObserved
from paceline_operator.adapters.queue import Key, QueueTroubleError
from paceline_operator.api.schema import JsonDict
from paceline_operator.api.v1alpha1 import (
    Condition,
    Leader,
    QueueStatus,
    Runner,
    RunnerGroup,
    RunnerGroupStatus,
    RunnerStatus,
)
from paceline_operator.domain.plan import Plan
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.report import Trouble, count, report_group
from paceline_operator.domain.report_runner import report_other, report_runner
from paceline_operator.domain.seen import GroupSeen
from paceline_operator.handlers.act import Outcome
from paceline_operator.handlers.alerts import Alerts
from paceline_operator.handlers.services import Services
from paceline_operator.handlers.tell import tell_decision, tell_ignored, tell_outcome, tell_status, tell_taints
from paceline_operator.ports.cluster import Manifest
from paceline_operator.ports.errors import ConflictError
from paceline_operator.ports.resources import RUNNER, RUNNER_GROUP

NUMBERS_SECONDS: Final = 5.0
"""So often at most the numbers of the queue are written."""


class Reporter:
    """For one group."""

    def __init__(self, key: Key, services: Services) -> None:
        """For the group of that namespace and name."""
        self._key, self._services = key, services
        self._alerts = Alerts(key, services)
        self._numbers_at = 0.0
        self._replicas: int | None = None
        """spec.replicas, as last seen."""

    async def report(
        self, raw: Manifest, seen: GroupSeen, made: Plan, outcome: Outcome, trouble: QueueTroubleError | None,
        refused: tuple[Reason, str] | None, observed: GroupObserved | None, held: float,
    ) -> bool:  # fmt: skip
        """Write what has changed; False if somebody else wrote meanwhile, so that another look is due.

        `held`: for how many seconds vacuum has been kept from the database.
        """
        group = seen.group
        status = report_group(
            seen,
            made,
            Trouble(
                queue=(trouble.reason, str(trouble)) if trouble else None,
                start=refused,
                shared_login=group.spec.database.runner_secret_ref is None,
            ),
            self._numbers(group.status, observed),
            Leader(runner=observed.leader, epoch=observed.epoch) if observed else group.status.leader,
        )
        status = self._alerts.follow(seen, made, status, observed, held)
        self._measure(made, observed, trouble, held)
        self._show(status.conditions)
        await tell_outcome(self._services, raw, outcome, made)
        await tell_decision(self._services, raw, group, seen.decided)
        if self._replicas not in (None, group.spec.replicas) and group.spec.scaling_mode == "Internal":
            await tell_ignored(self._services, raw, group.spec.replicas)
        self._replicas = group.spec.replicas
        written = True
        if status != group.status:
            written = await self._write(raw, status)
            if written:  # otherwise the next look finds the same, and tells it
                await tell_status(self._services, raw, group.status, status)
        lives = {life.runner.name: life for life in made.lives}
        for runner in seen.runners:
            life = lives.get(runner.name)
            told = report_runner(life, seen) if life else report_other(runner, seen)
            if told is not None and runner.resource is not None:
                written &= await self._write_runner(runner.resource, told)
                await tell_taints(self._services, runner.resource, told)
        return written

    async def refuse(self, raw: Manifest, error: ValidationError) -> None:
        """Say of a group that cannot be read which field it is about."""
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        message = f"{where}: {first['msg']}: this operator cannot read it; correct it, or upgrade the operator"
        condition: JsonDict = {
            "type": "Ready", "status": "False", "reason": Reason.INVALID, "message": message,
            "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "observedGeneration": raw["metadata"].get("generation", 0),
        }  # fmt: skip
        self._services.metrics.show_conditions(*self._key, {"Ready": (Reason.INVALID, False)})
        there = [each for each in (raw.get("status") or {}).get("conditions", []) if each.get("type") == "Ready"]
        if not there or there[0].get("message") != message:
            await self._services.cluster.patch_status(
                RUNNER_GROUP, *self._key, {"conditions": [condition]}, uid=raw["metadata"]["uid"]
            )

    async def _write(self, raw: Manifest, status: RunnerGroupStatus) -> bool:
        body, meta = status.model_dump(mode="json", by_alias=True, exclude_none=True), raw["metadata"]
        try:
            await self._services.cluster.patch_status(
                RUNNER_GROUP, *self._key, body, uid=meta["uid"], resource_version=meta["resourceVersion"]
            )
        except ConflictError:
            return False
        return True

    async def _write_runner(self, runner: Runner, status: RunnerStatus) -> bool:
        body, meta = status.model_dump(mode="json", by_alias=True, exclude_none=True), runner.metadata
        try:
            await self._services.cluster.patch_status(
                RUNNER, meta.namespace, meta.name, body, uid=meta.uid, resource_version=meta.resource_version
            )
        except ConflictError:
            return False
        return True

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

    def _measure(
        self, made: Plan, observed: GroupObserved | None, trouble: QueueTroubleError | None, held: float
    ) -> None:
        metrics, (namespace, name) = self._services.metrics, self._key
        counts = count(made.lives)
        states = {"ready": counts.ready, "busy": counts.busy, "pending": counts.pending, "leaving": counts.leaving}
        for state, number in states.items():
            metrics.runners.labels(namespace, name, state).set(number)
        metrics.wanted.labels(namespace, name).set(made.size)
        if made.roll is not None:
            metrics.updated.labels(namespace, name).set(made.roll.updated)
        metrics.reachable.labels(namespace, name).set(trouble is None)
        if observed is not None:
            metrics.ready_jobs.labels(namespace, name).set(observed.ready)
            metrics.oldest.labels(namespace, name).set(observed.oldest_seconds or 0)
            metrics.dead_jobs.labels(namespace, name).set(observed.dead)
            metrics.unclaimable.labels(namespace, name).set(observed.unclaimable)
            metrics.held.labels(namespace, name).set(held)

    def _show(self, conditions: Iterable[Condition]) -> None:
        known = {each.type: (each.reason, each.status == "True") for each in conditions if each.status != "Unknown"}
        self._services.metrics.show_conditions(*self._key, known)


def readable(raw: Manifest) -> RunnerGroup:
    """The group as we understand it; ValidationError names what we do not."""
    return RunnerGroup.model_validate(raw)
