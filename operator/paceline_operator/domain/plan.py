"""The heart of the operator: from one look at a group to what is to be done.

Level-triggered: what was missed or undone between two looks is simply seen again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from paceline_operator.domain.actions import (
    Action,
    CreatePod,
    CreateRunners,
    DeletePod,
    DeleteRunner,
    Drain,
    Forget,
    MarkLeader,
    Protect,
    Relabel,
    Retire,
    SetBudget,
    SetTaints,
    Suspect,
    Why,
)
from paceline_operator.domain.death import find_dead, find_suspects
from paceline_operator.domain.external import mirror
from paceline_operator.domain.failures import Memory, count_ends, is_failure
from paceline_operator.domain.levers import is_paused
from paceline_operator.domain.lives import Life, lives_of
from paceline_operator.domain.scaling.decide import ScaleReason
from paceline_operator.domain.seen import GroupSeen, NodeSeen, PodSeen
from paceline_operator.domain.size import decide_size
from paceline_operator.domain.taints import read_declared

LONG_JOB: Final = 60.0
"""Seconds from which on node consolidation is told to stay away from a job: a shorter one is over before it moves."""
WELL: Final = NodeSeen()
CLEANUP_MARGIN: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what to remember; how the group stands is told by its lives."""

    actions: tuple[Action, ...]
    memory: Memory
    lives: tuple[Life, ...]
    size: int
    again_at: datetime | None = None
    """When to look again although nothing happens: a back-off or a time limit ends then."""


def plan(seen: GroupSeen, memory: Memory) -> Plan:
    """Decide. With the database away nothing is deleted, and only a fallback creates: who works or waits goes on."""
    lives = lives_of(seen)
    staying = sum(life.staying for life in lives)
    size = decide_size(seen.group, staying, seen.decided, drained=seen.drained).replicas
    if seen.registrations is None:
        again_at = seen.decided.again_at if seen.decided else None
        return Plan(_blindly(seen, memory, lives, size - staying), memory, lives, size, again_at)
    given_up = _given_up(seen, lives)
    memory = count_ends(memory, seen.pods, _born(lives), seen.now, given_up)
    actions: list[Action] = []
    if (fence := find_dead(seen, seen.registrations)) is not None:
        actions.append(fence)
    if (suspects := find_suspects(seen)) != memory.suspects:
        actions.append(Suspect(suspects))
        memory = replace(memory, suspects=suspects)
    if seen.group.metadata.deletion_timestamp is not None:
        actions.extend(DeleteRunner(runner.name, runner.uid, Why.GROUP_DELETED)
                       for runner in seen.runners if runner.owned and not runner.deleting)  # fmt: skip
        return Plan(tuple(actions), memory, lives, 0, seen.group.metadata.deletion_timestamp + cleanup_within(seen))
    actions.extend(DeletePod(pod.name, pod.uid, Why.STARTUP_TIMEOUT) for pod in given_up)
    actions.extend(_taint(seen))
    actions.extend(_clean_up(seen, lives))
    leaving = frozenset(each.name for each in actions if isinstance(each, DeleteRunner))
    lives_here = tuple(life for life in lives if life.runner.name not in leaving)
    actions.extend(_drain(seen, lives_here))
    budget = _Budget(seen, memory, lives_here)
    actions.extend(_heal(seen, lives_here, memory, budget))
    actions.extend(_resize(lives_here, size, budget))
    actions.extend(_mark(lives_here))
    actions.extend(mirror(seen))
    actions.extend(Relabel(pod.name, pod.uid, pod.runner) for pod in seen.pods if pod.astray)
    if (least := max(0, size - seen.group.spec.disruption_budget.max_unavailable)) != seen.budget:
        actions.append(SetBudget(least))
    return Plan(tuple(actions), memory, lives, size, _again_at(seen, lives_here, memory, size))


def _blindly(seen: GroupSeen, memory: Memory, lives: tuple[Life, ...], missing: int) -> tuple[Action, ...]:
    """Runners that a fallback asks for; they claim as soon as they reach the database, whether we do or not."""
    decided, internal = seen.decided, seen.group.spec.scaling_mode == "Internal"
    if missing <= 0 or not internal or decided is None or decided.reason is not ScaleReason.FALLBACK:
        return ()
    budget = _Budget(seen, memory, lives)
    allowed = sum(budget.take() for _ in range(missing))
    return (CreateRunners(allowed),) if allowed else ()


def cleanup_within(seen: GroupSeen) -> timedelta:
    """How long a deleted group may take to drain before its rows go anyway."""
    return timedelta(seconds=seen.group.spec.drain.timeout_seconds) + CLEANUP_MARGIN


def _born(lives: tuple[Life, ...]) -> frozenset[str]:
    return frozenset().union(*(life.came_to_life for life in lives))


def _given_up(seen: GroupSeen, lives: tuple[Life, ...]) -> tuple[PodSeen, ...]:
    """Pods that had their time to register and did not."""
    limit = timedelta(seconds=seen.group.spec.startup_timeout_seconds)
    return tuple(
        pod for life in lives for pod in life.pods
        if pod.live and pod.uid not in life.came_to_life and seen.now - pod.created >= limit
    )  # fmt: skip


def _taint(seen: GroupSeen) -> Iterator[Action]:
    """What is said on Runner objects and is not yet in the database."""
    kept = {row.runner: row.declared for row in seen.registrations or ()}
    for runner in seen.runners:
        if runner.deleting or not (runner.owned or runner.external):
            continue
        have = read_declared(kept.get(runner.name, ""))
        for source, taints in runner.declared.by_source.items():
            if taints != have.get(source, frozenset()):
                yield SetTaints(runner.name, source, tuple(sorted(taints)), runner.external)


def _clean_up(seen: GroupSeen, lives: tuple[Life, ...]) -> Iterator[Action]:
    """Who has gone, and what nobody needs any more."""
    ephemeral = seen.group.spec.lifetime.max_jobs > 0
    for life in lives:
        if life.runner.deleting:
            continue
        served = ephemeral and life.pod is not None and life.pod.exit_code == 0
        if (life.retiring and life.held == 0) or (served and life.held == 0):
            yield DeleteRunner(life.runner.name, life.runner.uid, Why.SERVED if served else Why.SCALE_DOWN)
            continue
        for old in life.pods[0 if life.benched else 1 :]:
            unborn = life.benched and old.uid not in life.came_to_life
            if (old.ended or unborn) and not old.deleting:
                yield DeletePod(old.name, old.uid, Why.TAINTED if life.benched else Why.REPLACED)
    names = {runner.name for runner in seen.runners}
    for pod in seen.pods:
        if pod.owner is None and pod.runner not in names and not pod.deleting:  # with an owner, Kubernetes does it
            yield DeletePod(pod.name, pod.uid, Why.ORPHANED)
    rows = seen.registrations or ()
    alive = {row.runner for row in rows if row.incarnation is not None}
    if orphans := sorted({row.runner for row in rows if not row.external} - names - alive):
        yield Forget(tuple(orphans))


def _drain(seen: GroupSeen, lives: tuple[Life, ...]) -> Iterator[Action]:
    """Runners in pods that leave or on nodes that are being emptied, and, a few at a time, those that are too old.

    A pod that was told to go may not know it yet: its successor must not find it active, or it would be fenced, and
    what it holds would be lost.
    """
    leaving = tuple(
        life.runner.name for life in lives if life.pod is not None and life.pod.deleting and life.working is not None
    )
    if leaving:
        yield Drain(leaving, Why.POD_LEAVES)
    cordoned = tuple(
        life.runner.name for life in lives
        if life.pod is not None and life.serving is not None and seen.nodes.get(life.pod.node, WELL).cordoned
    )  # fmt: skip
    if cordoned:
        yield Drain(cordoned, Why.CORDONED)
    age = seen.group.spec.lifetime.max_age_seconds
    if age and not is_paused(seen.group):
        strategy = seen.group.spec.update_strategy
        missing = sum(life.serving is None for life in lives)
        room = max(0, max(1, strategy.max_surge + strategy.max_unavailable) - missing)
        old = sorted(
            (life for life in lives if life.serving is not None and life.serving.registered_seconds >= age
             and life.runner.name not in cordoned),
            key=lambda life: (life.held > 0, life.runner.name),
        )  # fmt: skip
        if chosen := tuple(life.runner.name for life in old[:room]):
            yield Drain(chosen, Why.SERVED)


class _Budget:
    """How many pods may be started now."""

    def __init__(self, seen: GroupSeen, memory: Memory, lives: tuple[Life, ...]) -> None:
        trial = memory.trial_at()
        self._left: int | None = None
        if seen.template_problem or seen.hold_starts:
            self._left = 0
        elif trial is not None:
            starting = any(life.pod is not None and life.pod.live and life.serving is None for life in lives)
            self._left = 0 if starting or seen.now < trial else 1

    def take(self) -> bool:
        if self._left is None:
            return True
        self._left -= 1
        return self._left >= 0


def _heal(seen: GroupSeen, lives: tuple[Life, ...], memory: Memory, budget: _Budget) -> Iterator[Action]:
    """Runners that stay and have no pod to work in."""
    for life in lives:
        if not life.staying or life.has_pod:
            continue
        failures = memory.failures.get(life.runner.name)
        if failures is not None and seen.now < failures.wait_until():
            continue
        if budget.take():
            yield CreatePod(life.runner.name, life.runner.uid, life.next_boot, _why_pod(life))


def _why_pod(life: Life) -> Why:
    if life.pod is None:
        return Why.NO_POD
    return Why.POD_FAILED if life.pod.ended and is_failure(life.pod) else Why.POD_LEAVES


def _resize(lives: tuple[Life, ...], size: int, budget: _Budget) -> Iterator[Action]:
    """More Runners, or fewer: those that hold nothing, chosen by the database."""
    staying = [life for life in lives if life.staying]
    if len(staying) < size:
        allowed = sum(budget.take() for _ in range(size - len(staying)))
        if allowed:
            yield CreateRunners(allowed)
    elif len(staying) > size:
        unready = tuple(life.runner.name for life in staying if life.serving is None and not _comes_back(life))
        yield Retire(len(staying) - size, unready)


def _comes_back(life: Life) -> bool:
    """Its taint is gone, and it is about to get its pod again: whoever has stood in for it goes first."""
    return life.pod is None and bool(life.registrations)


def _mark(lives: tuple[Life, ...]) -> Iterator[Action]:
    """What pods show of what the database knows: that a job runs long in them, and that they lead."""
    for life in lives:
        for pod in life.pods:
            known = life.registration_of(pod)
            long = known is not None and (known.oldest_job_seconds or 0.0) > LONG_JOB
            if long != pod.protected and pod.live:
                yield Protect(pod.name, pod.uid, long)
            leads = known is not None and known.leads
            if leads != pod.leads and not pod.deleting:
                yield MarkLeader(pod.name, pod.uid, leads)


def _again_at(seen: GroupSeen, lives: tuple[Life, ...], memory: Memory, size: int) -> datetime | None:
    """The next moment at which time alone changes the plan."""
    limit = timedelta(seconds=seen.group.spec.startup_timeout_seconds)
    moments = [failures.wait_until() for failures in memory.failures.values()]
    moments += [
        pod.created + limit for life in lives for pod in life.pods if pod.live and pod.uid not in life.came_to_life
    ]
    if (trial := memory.trial_at()) is not None:
        moments.append(trial)
    if seen.decided is not None and seen.decided.again_at is not None:
        moments.append(seen.decided.again_at)
    if sum(life.staying for life in lives) > size:
        moments.append(seen.now + timedelta(seconds=1))  # somebody busy may have become idle
    return min((each for each in moments if each > seen.now), default=None)
