"""A group's alerts, looked at with every turn of its loop: what is stored of them, and what the webhooks are told."""

from paceline.operating import GroupObserved
from paceline_operator.adapters.queue import Key
from paceline_operator.api.v1alpha1 import AlertStatus, RunnerGroupStatus
from paceline_operator.domain.alerts.facts import Facts, Recent
from paceline_operator.domain.alerts.follow import due, follow, hear, notice_of
from paceline_operator.domain.alerts.notice import Notice
from paceline_operator.domain.plan import Plan
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.report import count
from paceline_operator.domain.seen import GroupSeen
from paceline_operator.handlers.services import Services

GIVEN_UP = (Reason.ROLLED_BACK, Reason.ROLLOUT_STOPPED)


class Alerts:
    """Of one group."""

    def __init__(self, key: Key, services: Services) -> None:
        """For the group of that namespace and name."""
        self._key, self._services = key, services
        self._recent: Recent | None = None
        self._failed: frozenset[str] = frozenset()
        """UIDs of the pods whose failure was noted."""

    def follow(
        self, seen: GroupSeen, made: Plan, status: RunnerGroupStatus, observed: GroupObserved | None, held: float
    ) -> RunnerGroupStatus:
        """The status with the alerts as they are now. What is stored of them and has not been told is told."""
        webhooks = self._services.webhooks
        if webhooks is None:
            return status
        old, now = seen.group.status, seen.now
        facts = self._facts(seen, made, status, observed, held)
        stored = old.alerts or ()
        new = follow(hear(stored, lambda each: webhooks.told(self._notice(each, status))), facts, now)
        for each in due(stored, new, now):
            webhooks.tell(self._notice(each, status))
        return status.model_copy(update={"alerts": new or None})

    def _notice(self, alert: AlertStatus, status: RunnerGroupStatus) -> Notice:
        return notice_of(alert, *self._key, pool=status.pool or "", install=self._services.install)

    def _facts(
        self, seen: GroupSeen, made: Plan, status: RunnerGroupStatus, observed: GroupObserved | None, held: float
    ) -> Facts | None:
        recent = self._note(seen, made, observed)
        if seen.group.metadata.deletion_timestamp is not None:
            return None
        said = {each.type: each.reason for each in status.conditions if each.status == "False"}
        dead = observed.dead if observed else None
        return Facts(
            wanted=made.size,
            ready=count(made.lives).ready,
            updated=status.updated_replicas or 0,
            reachable="QueueReachable" not in said,
            leaderless="LeaderElected" in said,
            stalled=said.get("Progressing") == Reason.ROLLOUT_STALLED,
            given_up=said["Progressing"] if said.get("Progressing") in GIVEN_UP else "",
            oldest=(observed.oldest_seconds or 0) if observed else None,
            unclaimable=observed.unclaimable if observed else None,
            dead=dead,
            arrived=recent.arrived(dead),
            failed=recent.failed,
            held=held if observed else None,
            watched=recent.watched(seen.now),
        )

    def _note(self, seen: GroupSeen, made: Plan, observed: GroupObserved | None) -> Recent:
        if self._recent is None:
            queue = seen.group.status.queue
            self._recent = Recent(queue.dead if queue else None, seen.now)
        counted = made.memory.counted
        self._recent.note(observed.dead if observed else None, len(counted - self._failed), seen.now)
        self._failed = counted
        return self._recent
