"""How a group goes from one revision to another: who is restarted now, what pods are made of, and when to turn back.

Nothing is remembered here: where an update stands follows from the revisions that pods have, from since when the first
runners of the new one are watched (kept with the revision), and from what the status says has failed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from paceline_operator.domain.failures import TRIALS, Memory
from paceline_operator.domain.levers import is_rollout_paused
from paceline_operator.domain.lives import Life
from paceline_operator.domain.seen import GroupSeen, Outcomes, PodSeen

ENOUGH: Final = 20
"""So many attempts of the new revision must have ended before they are compared."""
STALLED: Final = 300.0
"""Seconds from which on the job that an update waits for is named."""


class RollPhase(StrEnum):
    """Where an update stands."""

    DONE = "Done"
    """All runners have the revision that they should have."""
    CANARY = "Canary"
    """The first runners have the new revision and are watched."""
    ROLLING = "Rolling"
    PAUSED = "Paused"
    """Somebody wants it to wait."""
    BACK = "RollingBack"
    """The new revision has failed: all go back to the old one."""
    STOPPED = "Stopped"
    """The new revision has failed, and nobody is to go back by itself."""


MIXED: Final = frozenset({RollPhase.CANARY, RollPhase.PAUSED, RollPhase.STOPPED})
"""Phases in which a runner keeps its revision when it gets another pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """What an update wants now."""

    phase: RollPhase
    target: str
    """Where runners are going."""
    base: str
    """Where they come from: what a new runner is made of while the target is not yet trusted."""
    updated: int = 0
    outdated: int = 0
    surge: int = 0
    """Runners beyond the size of the group."""
    quota: int = 0
    """While the canary is put together: so many more pods are made of the target."""
    restart: tuple[str, ...] = ()
    """Runners that shall finish and come back with the target."""
    discard: tuple[PodSeen, ...] = ()
    """Pods of another revision in which nobody ever worked."""
    watched_since: datetime | None = None
    """To be kept with the target: its canary has just come to work."""
    failed: str | None = None
    """The revision that has failed, and is not tried again."""
    failure: str = ""
    """Why, where that was found now."""
    waits_for: str = ""
    """The job that holds the update up."""
    again_at: datetime | None = None

    @property
    def settled(self) -> bool:
        """The target is what the group has now."""
        return self.phase is RollPhase.DONE


def decide_roll(
    seen: GroupSeen, lives: Sequence[Life], size: int, memory: Memory, given_up: Sequence[PodSeen] = ()
) -> Roll:
    """Where the update of a group stands, and its next step."""
    status, wanted = seen.group.status, seen.revision
    current = status.current_revision if status.current_revision in seen.revisions else None
    known = current is not None and current != wanted
    failed = wanted if known and status.failed_revision == wanted else None
    failure = ""
    if known and failed is None and current is not None:
        failure = judge(seen, lives, current, memory, given_up)
        failed = wanted if failure else None
    found = _step(seen, [life for life in lives if life.staying], size, current or wanted, failed)
    return replace(found, failed=failed, failure=failure)


def judge(seen: GroupSeen, lives: Sequence[Life], current: str, memory: Memory, given_up: Sequence[PodSeen]) -> str:
    """Why the revision of the spec is no good, with the figures; empty while nothing speaks against it."""
    wanted, canary = seen.revision, seen.group.spec.update_strategy.canary
    new, old = seen.outcomes.get(wanted, Outcomes()), seen.outcomes.get(current, Outcomes())
    if new.ended >= ENOUGH and new.ratio > old.ratio + canary.max_failure_ratio:
        return (
            f"{new.failed} of {new.ended} jobs failed on revision {wanted} ({new.ratio:.0%}), {old.failed} of "
            f"{old.ended} on {current} ({old.ratio:.0%}); at most {canary.max_failure_ratio:.0%} more are allowed"
        )
    if late := next((pod for pod in given_up if pod.revision == wanted), None):
        limit = seen.group.spec.startup_timeout_seconds
        return f"pod {late.name} did not register within {limit} s{f': {late.stuck}' if late.stuck else ''}"
    unborn = memory.unborn.get(wanted)
    if unborn is not None and unborn.count >= TRIALS:
        return f"{unborn.count} pods in a row ended before they had registered; {unborn.told}"
    patience = timedelta(seconds=max(1, canary.observe_seconds))
    for life in lives:
        pod = life.pod
        if pod is None or pod.revision != wanted:
            continue
        failures = memory.failures.get(life.runner.name)
        if failures is not None and failures.count >= TRIALS:
            return f"runner {life.runner.name} failed {failures.count} times in a row"
        broken = pod.stuck and not pod.stuck.startswith("Unschedulable")  # a node may still come for that one
        if broken and pod.live and seen.now - pod.created >= patience:
            return f"pod {pod.name} cannot start: {pod.stuck}"
    return ""


def _step(seen: GroupSeen, staying: Sequence[Life], size: int, current: str, failed: str | None) -> Roll:
    strategy = seen.group.spec.update_strategy
    target = seen.revision
    if failed is not None and strategy.auto_rollback:
        target = current
    updated = [life for life in staying if life.revision == target]
    outdated = [life for life in staying if life.revision not in ("", target)]
    plain = Roll(
        phase=RollPhase.DONE, target=target, base=current, updated=len(updated), outdated=len(outdated),
        waits_for=_waits_for(staying),
    )  # fmt: skip
    kept = seen.revisions.get(target)
    since = kept.watched_since if kept is not None else None
    over = None if since is None else since + timedelta(seconds=strategy.canary.observe_seconds)
    trusted = target == current or strategy.canary.runners == 0 or (over is not None and seen.now >= over)
    if failed is not None and not strategy.auto_rollback:
        return replace(plain, phase=RollPhase.STOPPED)
    changing = _changing(staying)
    if trusted and not outdated and (target == current or not changing):
        return plain
    if is_rollout_paused(seen.group):
        return replace(plain, phase=RollPhase.PAUSED)
    if target == seen.revision and (seen.template_problem or seen.hold_starts):
        return replace(plain, phase=RollPhase.CANARY)  # no pod can be made of it: nobody gives up what it has
    if trusted:
        phase = RollPhase.BACK if failed is not None else RollPhase.ROLLING
        # the last to be restarted is not the one that is too many
        surge = min(strategy.max_surge, len(outdated) + changing) if size else 0
        return replace(
            plain, phase=phase, surge=surge, discard=_never_worked(outdated),
            restart=_choose(seen, staying, outdated, size, len(outdated)),
        )  # fmt: skip
    wanted = min(strategy.canary.runners, max(1, size))
    at_work = sum(life.serving is not None for life in updated)
    surge = min(strategy.max_surge, wanted) if size else 0
    quota = max(0, wanted - len(updated))
    new = max(0, size + surge - len(staying))
    return replace(
        plain, phase=RollPhase.CANARY, surge=surge, quota=quota,
        restart=_choose(seen, staying, outdated, size, quota - new),
        watched_since=seen.now if since is None and at_work >= wanted else None,
        again_at=over,
    )  # fmt: skip


def _changing(staying: Sequence[Life]) -> int:
    """How many are not as they shall be: a pod finishes, or its successor has yet to come to work."""
    return sum(life.finishing or life.serving is None for life in staying)


def _choose(
    seen: GroupSeen, staying: Sequence[Life], outdated: Sequence[Life], size: int, most: int
) -> tuple[str, ...]:
    """Who is restarted now: idle ones first, the leader last, and never so many that too few are left."""
    strategy = seen.group.spec.update_strategy
    serving = sum(life.serving is not None for life in staying)
    room = min(
        strategy.max_surge + strategy.max_unavailable - _changing(staying),
        serving - (size - strategy.max_unavailable),
        most,
    )
    able = [life for life in outdated if life.serving is not None]
    able.sort(key=lambda life: (bool(life.serving and life.serving.leads), life.held > 0, life.runner.name))
    return tuple(life.runner.name for life in able[: max(0, room)])


def _never_worked(outdated: Sequence[Life]) -> tuple[PodSeen, ...]:
    """They hold nothing and may never start: nobody waits for them."""
    return tuple(
        life.pod for life in outdated
        if life.pod is not None and life.pod.live and life.pod.uid not in life.came_to_life
    )  # fmt: skip


def _waits_for(staying: Sequence[Life]) -> str:
    """The oldest job of a runner that finishes, once it has run long."""
    rows = [
        row for life in staying if life.finishing for row in life.registrations
        if row.state == "draining" and (row.oldest_job_seconds or 0.0) >= STALLED
    ]  # fmt: skip
    if not rows:
        return ""
    oldest = max(rows, key=lambda row: row.oldest_job_seconds or 0.0)
    name = "a job" if oldest.oldest_job is None else f"job {oldest.oldest_job}"
    minutes = int((oldest.oldest_job_seconds or 0.0) // 60)
    return f"{name} on {oldest.runner}, which has run for {minutes} min"


def watched_since(seen: GroupSeen) -> datetime | None:
    """From when on the jobs of a new revision are compared with the old one's; None while none is on trial."""
    status = seen.group.status
    on_trial = status.current_revision not in (None, seen.revision) and status.failed_revision != seen.revision
    kept = seen.revisions.get(seen.revision)
    return kept.watched_since if on_trial and kept is not None else None
