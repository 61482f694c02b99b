"""What the operator tells about a group and its Runners: counts and conditions, recomputed from what was seen."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from paceline_operator.api.v1alpha1 import Leader, QueueStatus, RunnerGroupStatus
from paceline_operator.domain.conditions import Finding, merge, no, unknown, yes
from paceline_operator.domain.failures import TRIALS
from paceline_operator.domain.levers import is_paused
from paceline_operator.domain.lives import Life
from paceline_operator.domain.names import selector
from paceline_operator.domain.plan import Plan
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.report_roll import report_roll
from paceline_operator.domain.report_runner import taints_applied
from paceline_operator.domain.report_scaling import recommend, report_scaling
from paceline_operator.domain.seen import GroupSeen
from paceline_operator.domain.taints import declared


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What went wrong while looking or acting, besides what the plan itself knows."""

    queue: tuple[Reason, str] | None = None
    """Why the database cannot be used."""
    start: tuple[Reason, str] | None = None
    """Why pods could not be created."""
    shared_login: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The Runners of a group, by how they are."""

    staying: int = 0
    ready: int = 0
    busy: int = 0
    pending: int = 0
    leaving: int = 0
    stuck: Sequence[tuple[str, str]] = field(default_factory=tuple)
    """What pods that cannot start have to say, and of which revision each is."""


def count(lives: Sequence[Life]) -> Counts:
    """How many are how."""
    staying = [life for life in lives if life.staying]
    serving = [life for life in staying if life.serving is not None]
    pending = [life for life in staying if life.serving is None and life.pod is not None and life.pod.live]
    return Counts(
        staying=len(staying),
        ready=len(serving),
        busy=sum(life.held > 0 for life in serving),
        pending=len(pending),
        leaving=sum(not life.staying and not life.rests for life in lives),
        stuck=tuple(
            (life.pod.revision, f"pod {life.pod.name}: {life.pod.stuck}")
            for life in pending
            if life.pod is not None and life.pod.stuck
        ),
    )


def report_group(
    seen: GroupSeen, plan: Plan, trouble: Trouble, queue: QueueStatus | None = None, leader: Leader | None = None
) -> RunnerGroupStatus:
    """The status of a group."""
    group, counts = seen.group, count(plan.lives)
    old = group.status
    known = seen.registrations is not None
    findings = [
        _ready(seen, plan, counts, trouble),
        _available(plan, counts, known=known),
        _progressing(seen, plan, counts, trouble),
        *report_scaling(seen),
        _queue(trouble),
        *([_leader(leader, known=known)] if group.spec.dispatch == "Leader" else []),
        *taints_applied(declared(group).problem, old.conditions),
        yes("Paused", Reason.PAUSED, "no claims and no scaling until paceline.dev/paused is removed")
        if is_paused(group) else no("Paused", Reason.NOT_PAUSED),
    ]  # fmt: skip
    return RunnerGroupStatus(
        pool=group.pool,
        replicas=counts.staying,
        ready_replicas=counts.ready if known else old.ready_replicas,
        busy_replicas=counts.busy if known else old.busy_replicas,
        idle_replicas=counts.ready - counts.busy if known else old.idle_replicas,
        pending_replicas=counts.pending if known else old.pending_replicas,
        selector=selector(group.metadata.name),
        leader=leader if group.spec.dispatch == "Leader" else None,
        queue=queue or old.queue,
        recommendation=recommend(seen),
        current_revision=_current(seen, plan),
        update_revision=seen.revision or None,
        updated_replicas=old.updated_replicas if plan.roll is None else plan.roll.updated,
        failed_revision=old.failed_revision if plan.roll is None else plan.roll.failed,
        observed_generation=group.metadata.generation,
        conditions=merge(old.conditions, findings, group.metadata.generation, seen.now),
    )


def _ready(seen: GroupSeen, plan: Plan, counts: Counts, trouble: Trouble) -> Finding:
    if seen.group.metadata.deletion_timestamp is not None:
        return no("Ready", Reason.DELETING, f"{counts.leaving + counts.staying} runners drain before the group goes")
    if trouble.queue is not None:
        return no("Ready", *trouble.queue)
    if is_paused(seen.group):
        return no("Ready", Reason.PAUSED, "paceline.dev/paused stops claims and scaling: remove it to go on")
    if seen.drained:
        return no("Ready", Reason.DRAINED, "a Drain taint is on the group: all finish and leave until it is removed")
    problem = _problem(seen, plan, counts, trouble)
    if problem is not None:
        return no("Ready", *problem)
    rolling = report_roll(seen, plan.roll)
    if rolling is not None:
        return no("Ready", rolling.reason, rolling.message)
    if counts.staying < plan.size or counts.pending:
        return no("Ready", Reason.SCALING_UP, f"{counts.ready} of {plan.size} runners are ready")
    if counts.staying > plan.size:
        return no("Ready", Reason.SCALING_DOWN, f"{counts.staying - plan.size} runners are to go once they hold no job")
    if counts.ready < plan.size:
        return no("Ready", Reason.NOT_READY, f"{counts.ready} of {plan.size} runners are ready")
    if not plan.size:
        return yes("Ready", Reason.AS_WANTED, "no runner is wanted now")
    ready = "1 runner is ready" if counts.ready == 1 else f"{counts.ready} runners are ready"
    return yes("Ready", Reason.AS_WANTED, ready)


def _available(plan: Plan, counts: Counts, *, known: bool) -> Finding:
    if not known:
        return unknown("Available", Reason.UNREACHABLE, "the database does not say who works")
    if plan.size == 0 and counts.ready == 0:
        return yes("Available", Reason.EMPTY, "no runner is wanted now")
    if counts.ready:
        return yes("Available", Reason.AVAILABLE, f"{counts.ready} runners may claim")
    return no("Available", Reason.UNAVAILABLE, "no runner may claim")


def _problem(seen: GroupSeen, plan: Plan, counts: Counts, trouble: Trouble) -> tuple[Reason, str] | None:
    """What keeps runners from starting."""
    if seen.template_problem:
        return Reason.TEMPLATE_INVALID, seen.template_problem
    if trouble.start is not None:
        return trouble.start
    failed = plan.roll.failed if plan.roll is not None else None  # of that one the update itself tells
    for revision, unborn in plan.memory.unborn.items():
        if unborn.count >= TRIALS and revision != failed:
            text = f"{unborn.count} pods in a row ended before they had registered; {unborn.told}"
            return Reason.FAILING, text
    if stuck := [text for revision, text in counts.stuck if revision != failed]:
        return Reason.CANNOT_START, stuck[0]
    return None


def _progressing(seen: GroupSeen, plan: Plan, counts: Counts, trouble: Trouble) -> Finding:
    problem = _problem(seen, plan, counts, trouble)
    if problem is not None:
        return no("Progressing", *problem)
    if trouble.queue is not None:
        return no("Progressing", *trouble.queue)
    if (rolling := report_roll(seen, plan.roll)) is not None:
        return rolling
    if counts.staying == plan.size and not counts.pending and not counts.leaving:
        return yes("Progressing", Reason.STABLE)
    return yes(
        "Progressing", Reason.PROGRESSING, f"{counts.staying} of {plan.size} runners are there, {counts.leaving} leave"
    )


def _current(seen: GroupSeen, plan: Plan) -> str | None:
    """The revision that runners have, or had before the update that goes on; none until one has ever worked."""
    old, roll = seen.group.status.current_revision, plan.roll
    if roll is None:
        return old
    if old in seen.revisions:
        return roll.target if roll.settled else old
    works = any(life.serving is not None and life.revision == roll.target for life in plan.lives)
    return roll.target if works else None


def _queue(trouble: Trouble) -> Finding:
    if trouble.queue is not None:
        return no("QueueReachable", *trouble.queue)
    hint = "the pods share the operator's login: give them their own with spec.database.runnerSecretRef"
    return yes("QueueReachable", Reason.REACHABLE, hint if trouble.shared_login else "")


def _leader(leader: Leader | None, *, known: bool) -> Finding:
    if not known:
        return unknown("LeaderElected", Reason.UNREACHABLE, "the database does not say who leads")
    if leader is None or leader.runner is None:
        return no("LeaderElected", Reason.NOBODY_ELIGIBLE, "no runner may lead: none is registered, or each is tainted")
    return yes("LeaderElected", Reason.ELECTED, f"{leader.runner} leads")
