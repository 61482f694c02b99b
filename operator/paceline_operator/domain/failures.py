"""Pods that fail: how often, and how long to wait before the next one. A template that cannot start makes no storm."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar

from paceline_operator.domain.seen import PodSeen

LONGEST: Final = 300.0
LET_GO: Final = 70
"""The exit code of a runner that had to let go of its jobs because the database was away: no fault of its own."""
LIVED_WELL: Final = timedelta(minutes=10)
"""Who lived that long before it failed begins to count anew."""
TRIALS: Final = 3
"""So many Runners in a row may fail to start before only one at a time is tried."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Of one Runner, in a row."""

    count: int
    last: datetime

    def wait_until(self) -> datetime:
        """At once the first time, then after 1, 2, 4 … 300 seconds."""
        seconds = 0.0 if self.count <= 1 else min(LONGEST, 2.0 ** min(self.count - 2, 30))
        return self.last + timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class Unborn:
    """Pods of one revision in a row that ended, or gave up, before they had registered, whoever's they were."""

    count: int
    last: datetime
    told: str = ""
    """What the last of them had to say."""

    def trial_at(self) -> datetime | None:
        """From when on one more may be tried; None while there is no reason to be careful."""
        return None if self.count < TRIALS else Failures(self.count - TRIALS + 2, self.last).wait_until()


Counted = TypeVar("Counted", Failures, Unborn)


@dataclass(frozen=True, slots=True)
class Memory:
    """What a group's loop remembers between two looks. A restart of the operator forgets it, and begins gently."""

    failures: Mapping[str, Failures] = field(default_factory=dict)
    counted: frozenset[str] = frozenset()
    """UIDs of the pods whose failure has been counted."""
    born: frozenset[str] = frozenset()
    """UIDs of the pods that had registered."""
    unborn: Mapping[str, Unborn] = field(default_factory=dict)
    """By revision."""
    suspects: frozenset[str] = frozenset()
    surge: int = 0
    """Runners beyond the size that an update was given at the last look."""

    def trial_at(self, revision: str) -> datetime | None:
        """From when on one more pod of a revision may be tried."""
        found = self.unborn.get(revision)
        return None if found is None else found.trial_at()


def is_failure(pod: PodSeen) -> bool:
    """A clean exit is none, nor is what others did to it, nor a runner that let go as it should."""
    taken_away = pod.deleting or pod.disrupted or pod.end_reason == "Evicted"
    return pod.exit_code not in (None, 0, LET_GO) and not taken_away


def count_ends(
    memory: Memory, pods: Iterable[PodSeen], born: frozenset[str], now: datetime, given_up: Iterable[PodSeen] = ()
) -> Memory:
    """Note the pods that have failed since the last look; `born`: UIDs of those that have registered, now or before."""
    pods = tuple(pods)
    failures, unborn = _until(memory.failures, now), _until(memory.unborn, now)
    for pod in pods:
        if pod.uid in born - memory.born:
            unborn.pop(pod.revision, None)
    waited = {pod.uid for pod in given_up}
    failed = [pod for pod in pods if pod.uid not in memory.counted and (is_failure(pod) or pod.uid in waited)]
    for pod in sorted(failed, key=lambda each: (each.created, each.boot)):
        before = failures.get(pod.runner)
        again = before is not None and now - pod.created < LIVED_WELL
        failures[pod.runner] = Failures(before.count + 1 if before is not None and again else 1, now)
        if pod.uid not in born:
            known = unborn.get(pod.revision)
            unborn[pod.revision] = Unborn(known.count + 1 if known else 1, now, describe(pod))
    there = {pod.uid for pod in pods}
    runners = {pod.runner for pod in pods}
    return replace(
        memory,
        failures={name: each for name, each in failures.items() if name in runners},
        counted=(memory.counted | {pod.uid for pod in failed}) & there,
        born=born,
        unborn=unborn,
    )


def _until(found: Mapping[str, Counted], now: datetime) -> dict[str, Counted]:
    """A clock that went back leaves moments that have not come: nobody waits for those, for an hour it may be."""
    return {name: each if each.last <= now else replace(each, last=now) for name, each in found.items()}


def describe(pod: PodSeen) -> str:
    """What a pod that failed has to say, in the kubelet's own words."""
    if not pod.ended:
        return f"pod {pod.name}: {pod.stuck or 'it did not register in time'}"
    how = f"exit code {pod.exit_code}" if pod.exit_code is not None and pod.exit_code >= 0 else "it ended"
    words = ": ".join(part for part in (pod.end_reason, pod.end_message.strip()) if part)
    return f"pod {pod.name}: {how}{f' ({words})' if words else ''}"
