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
    DropRevision,
    Forget,
    MarkLeader,
    Protect,
    Relabel,
    Retire,
    SaveRevision,
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
from paceline_operator.domain.revision import RevisionSeen, made_of
from paceline_operator.domain.roll import MIXED, Roll, RollPhase, decide_roll
from paceline_operator.domain.scaling.decide import ScaleReason
from paceline_operator.domain.seen import GroupSeen, NodeSeen, PodSeen
from paceline_operator.domain.size import decide_size
from paceline_operator.domain.taints import read_declared

LONG_JOB: Final = 60.0
"""Seconds from which on node consolidation is told to stay away from a job: a shorter one is over before it moves."""
WELL: Final = NodeSeen()
CLEANUP_MARGIN: Final = timedelta(seconds=60)
ROLL_LOOKS: Final = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what to remember; how the group stands is told by its lives."""

    actions: tuple[Action, ...]
    memory: Memory
    lives: tuple[Life, ...]
    size: int
    roll: Roll | None = None
    """Where an update stands; None where nothing could be seen of it."""
    again_at: datetime | None = None
    """When to look again although nothing happens: a back-off or a time limit ends then."""


def plan(seen: GroupSeen, memory: Memory) -> Plan:
    """Decide. With the database away nothing is deleted, and only a fallback creates: who works or waits goes on."""
    lives = lives_of(seen)
    staying = sum(life.staying for life in lives)
    size = decide_size(seen.group, staying, seen.decided, drained=seen.drained).replicas
    if seen.registrations is None:
        again_at = seen.decided.again_at if seen.decided else None
        return Plan(_blindly(seen, memory, lives, size - staying), memory, lives, size, again_at=again_at)
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
        until = seen.group.metadata.deletion_timestamp + cleanup_within(seen)
        return Plan(tuple(actions), memory, lives, 0, again_at=until)
    roll = decide_roll(seen, lives, size, memory, given_up)
    wanted = (seen.revision, roll.target, roll.base)
    unborn = {name: each for name, each in memory.unborn.items() if name in wanted}
    memory = replace(memory, surge=roll.surge, unborn=unborn)
    actions.extend(_keep_revisions(seen, roll))
    actions.extend(DeletePod(pod.name, pod.uid, Why.STARTUP_TIMEOUT) for pod in given_up)
    actions.extend(_taint(seen))
    actions.extend(_clean_up(seen, lives))
    leaving = frozenset(each.name for each in actions if isinstance(each, DeleteRunner))
    lives_here = tuple(life for life in lives if life.runner.name not in leaving)
    actions.extend(_drain(seen, lives_here, roll))
    actions.extend(DeletePod(pod.name, pod.uid, Why.ROLLED) for pod in roll.discard if pod not in given_up)
    budget = _Budget(seen, memory, lives_here, roll)
    actions.extend(_heal(seen, lives_here, memory, budget))
    actions.extend(_resize(seen, lives_here, size + roll.surge, budget))
    actions.extend(_mark(lives_here))
    actions.extend(mirror(seen))
    actions.extend(Relabel(pod.name, pod.uid, pod.runner) for pod in seen.pods if pod.astray)
    if (least := max(0, size - seen.group.spec.disruption_budget.max_unavailable)) != seen.budget:
        actions.append(SetBudget(least))
    again_at = _again_at(seen, lives_here, memory, size + roll.surge, roll)
    return Plan(tuple(actions), memory, lives, size, roll, again_at)


def _blindly(seen: GroupSeen, memory: Memory, lives: tuple[Life, ...], missing: int) -> tuple[Action, ...]:
    """Runners that a fallback asks for; they claim as soon as they reach the database, whether we do or not."""
    decided, internal = seen.decided, seen.group.spec.scaling_mode == "Internal"
    if missing <= 0 or not internal or decided is None or decided.reason is not ScaleReason.FALLBACK:
        return ()
    budget = _Budget(seen, memory, lives, None)
    return tuple(budget.create(missing))


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


def _keep_revisions(seen: GroupSeen, roll: Roll) -> Iterator[Action]:
    """The one of the spec is the newest; of those that nobody uses so many are kept as somebody may go back to."""
    if seen.group.spec.template is None:
        return
    newest = max((each.number for each in seen.revisions.values()), default=0)
    own = seen.revisions.get(seen.revision)
    if own is None:
        yield SaveRevision(RevisionSeen(name=seen.revision, number=newest + 1, made_of=made_of(seen.group)))
    elif own.number < newest:  # somebody went back to it: it is tried like any other
        yield SaveRevision(replace(own, number=newest + 1, watched_since=None))
    target = seen.revisions.get(roll.target)
    if roll.watched_since is not None and target is not None:
        yield SaveRevision(replace(target, watched_since=roll.watched_since))
    used = {seen.revision, roll.target, roll.base, *(pod.revision for pod in seen.pods)}
    used |= {runner.revision for runner in seen.runners}
    spare = sorted((each for each in seen.revisions.values() if each.name not in used), key=lambda each: each.number)
    for each in spare[: max(0, len(spare) - seen.group.spec.update_strategy.revision_history_limit)]:
        yield DropRevision(each.name, each.uid)


def _drain(seen: GroupSeen, lives: tuple[Life, ...], roll: Roll) -> Iterator[Action]:
    """Runners in pods that leave or on nodes that are being emptied, those of an old revision, and those too old.

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
    if rolled := tuple(name for name in roll.restart if name not in cordoned):
        yield Drain(rolled, Why.ROLLED)
    asked = tuple(
        life.runner.name for life in lives
        if life.pod is not None and life.serving is not None and life.runner.restarted_at
        and life.pod.restarted_at != life.runner.restarted_at
        and life.runner.name not in cordoned and life.runner.name not in rolled
    )  # fmt: skip
    if asked:
        yield Drain(asked, Why.RESTARTED)
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
    """How many pods may be started now, and of which revision each is made."""

    def __init__(self, seen: GroupSeen, memory: Memory, lives: tuple[Life, ...], roll: Roll | None) -> None:
        self._seen, self._memory, self._roll = seen, memory, roll
        self._quota = roll.quota if roll is not None else 0
        self._starting = {
            life.pod.revision for life in lives if life.pod is not None and life.pod.live and life.serving is None
        }

    def _blocked(self, revision: str) -> bool:
        """The API server does not take pods of the spec's template; those of an older one it did take."""
        return revision == self._seen.revision and bool(self._seen.template_problem or self._seen.hold_starts)

    def revision(self, own: str = "", *, well: bool = True) -> str:
        """What the next pod is made of, for a runner of a revision or a new one.

        One that has failed is no canary: with what it had before, it may be back at once.
        """
        roll = self._roll
        if roll is None:
            current = self._seen.group.status.current_revision
            return current if current and current in self._seen.revisions else self._seen.revision
        if roll.phase not in MIXED:
            return roll.target
        if self._quota > 0 and well and own != roll.target:
            return roll.target
        return own if own in self._seen.revisions else roll.base

    def take(self, own: str = "", *, well: bool = True) -> str | None:
        """The revision of one more pod; None if none may be started."""
        seen, revision = self._seen, self.revision(own, well=well)
        if self._blocked(revision):
            return None
        if (trial := self._memory.trial_at(revision)) is not None:
            if revision in self._starting or seen.now < trial:
                return None
            self._starting.add(revision)
        if self._roll is not None and self._roll.phase in MIXED and revision == self._roll.target and own != revision:
            self._quota -= 1
        return revision

    def create(self, count: int) -> Iterator[Action]:
        """New Runners, as many of these as may be."""
        found = [revision for _ in range(count) if (revision := self.take()) is not None]
        for revision in dict.fromkeys(found):
            yield CreateRunners(found.count(revision), revision)


def _heal(seen: GroupSeen, lives: tuple[Life, ...], memory: Memory, budget: _Budget) -> Iterator[Action]:
    """Runners that stay and have no pod to work in."""
    for life in lives:
        if not life.staying or life.has_pod:
            continue
        failures = memory.failures.get(life.runner.name)
        well = life.pod is None or not is_failure(life.pod)
        same = budget.revision(life.revision, well=well) == life.revision  # another one's failures do not count
        if failures is not None and same and seen.now < failures.wait_until():
            continue
        if (revision := budget.take(life.revision, well=well)) is not None:
            yield CreatePod(
                life.runner.name, life.runner.uid, life.next_boot, _why_pod(life), revision, life.runner.restarted_at
            )


def _why_pod(life: Life) -> Why:
    if life.pod is None:
        return Why.NO_POD
    return Why.POD_FAILED if life.pod.ended and is_failure(life.pod) else Why.POD_LEAVES


def _resize(seen: GroupSeen, lives: tuple[Life, ...], size: int, budget: _Budget) -> Iterator[Action]:
    """More Runners, or fewer: those that hold nothing, chosen by the database.

    Where the oldest leads, the youngest go first: after an update that is the one that came in addition.
    """
    staying = [life for life in lives if life.staying]
    if len(staying) < size:
        yield from budget.create(size - len(staying))
    elif len(staying) > size:
        unready = tuple(life.runner.name for life in staying if life.serving is None and not _comes_back(life))
        excess = len(staying) - size
        if seen.group.spec.dispatch == "Leader":
            able = [life.runner for life in staying if life.serving is not None and not life.serving.leads]
            able.sort(key=lambda each: (each.created or seen.now, each.name), reverse=True)
            unready += tuple(each.name for each in able[: max(0, excess - len(unready))])
        yield Retire(excess, unready)


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


def _again_at(seen: GroupSeen, lives: tuple[Life, ...], memory: Memory, size: int, roll: Roll) -> datetime | None:
    """The next moment at which time alone changes the plan."""
    limit = timedelta(seconds=seen.group.spec.startup_timeout_seconds)
    moments = [failures.wait_until() for failures in memory.failures.values()]
    moments += [
        pod.created + limit for life in lives for pod in life.pods if pod.live and pod.uid not in life.came_to_life
    ]
    moments += [trial for each in memory.unborn.values() if (trial := each.trial_at()) is not None]
    if roll.again_at is not None:
        moments.append(roll.again_at)
    if roll.phase in (RollPhase.CANARY, RollPhase.ROLLING, RollPhase.BACK):
        moments.append(seen.now + ROLL_LOOKS)  # how its jobs end is seen only by asking
    if seen.decided is not None and seen.decided.again_at is not None:
        moments.append(seen.decided.again_at)
    if sum(life.staying for life in lives) > size:
        moments.append(seen.now + timedelta(seconds=1))  # somebody busy may have become idle
    return min((each for each in moments if each > seen.now), default=None)
