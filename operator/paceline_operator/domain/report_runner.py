"""What the operator tells about a Runner. A plain life is one write: when it is ready."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final

from paceline_operator.api.meta import Condition
from paceline_operator.api.v1alpha1 import RunnerStatus
from paceline_operator.domain.conditions import Finding, merge, no, yes
from paceline_operator.domain.lives import Life
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.seen import GroupSeen, Registration, RunnerSeen

PATIENCE: Final = timedelta(seconds=10)
"""A pod that finds its place by then is nothing to write about: nodes are often full for a moment."""


def report_runner(life: Life, seen: GroupSeen) -> RunnerStatus | None:
    """The status of a Runner in the cluster; None while there is nothing new to say."""
    if life.runner.resource is None or life.runner.deleting or life.retiring:
        return None
    old, pod, serving = life.runner.resource.status, life.pod, life.serving
    kept = RunnerStatus(pod_name=old.pod_name, incarnation=old.incarnation, revision=old.revision)
    if life.benched:
        words = "a Drain taint is on it: it finishes and gives up its pod, and is back when the taint is gone"
        ready, registered = (
            no("Ready", Reason.TAINTED, words),
            _registered(any(each.leased for each in life.registrations)),
        )
        status = kept if pod is None else kept.model_copy(update={"pod_name": pod.name})
    elif serving is not None and pod is not None:
        ready, registered = yes("Ready", Reason.REGISTERED), _registered(True)
        status = RunnerStatus(pod_name=pod.name, incarnation=serving.incarnation, revision=pod.revision or None)
    elif (away := _away(life, seen, old)) is not None:
        ready, registered, status = away, _registered(False), kept
    else:
        return None
    return _fresh(life.runner, seen, status, life.registrations, (ready, registered))


def _away(life: Life, seen: GroupSeen, old: RunnerStatus) -> Finding | None:
    """Why nobody works in its name; None where what was said before is true, or what comes next tells in a moment."""
    pod = life.pod
    if pod is None or (pod.live and life.registration_of(pod) is None):
        if pod is not None and pod.stuck and seen.now - pod.created >= PATIENCE:
            # one word of it: the rest of the scheduler's changes with every node
            return no("Ready", Reason.CANNOT_START, f"pod {pod.name}: {pod.stuck.partition(':')[0]}")
        worked = any(
            each.type == "Ready" and (each.status == "True" or each.reason == Reason.TAINTED) for each in old.conditions
        )
        if worked and seen.registrations is not None:
            words = "it has no pod" if pod is None else f"pod {pod.name} has yet to register"
            return no("Ready", Reason.NOT_REGISTERED, words)
        return None
    failed = pod.ended and pod.exit_code != 0
    if old.incarnation is None and not failed:
        return None
    return no("Ready", Reason.FAILED if failed else Reason.DRAINING, pod.end_reason)


def report_other(runner: RunnerSeen, seen: GroupSeen) -> RunnerStatus | None:
    """The status of a Runner outside the cluster, or of one that was made by hand."""
    if runner.resource is None or runner.deleting:
        return None
    if not runner.external:
        group = seen.group.metadata.name
        words = f"it was made by hand: RunnerGroup {group} makes its own; delete it, and scale the group instead"
        return _fresh(runner, seen, RunnerStatus(), (), (no("Ready", Reason.NOT_OURS, words), _registered(False)))
    rows = tuple(row for row in seen.registrations or () if row.runner == runner.name and row.external)
    alive = next((row for row in rows if row.leased), None)
    if alive is None:
        ready = no("Ready", Reason.NOT_REGISTERED, "it does not run, or does not reach the database")
    elif alive.working:
        ready = yes("Ready", Reason.REGISTERED)
    else:
        ready = no("Ready", Reason.DRAINING, "it finishes and leaves")
    status = RunnerStatus(incarnation=alive.incarnation if alive else runner.incarnation)
    return _fresh(runner, seen, status, rows, (ready, _registered(alive is not None)))


def _registered(so: bool) -> Finding:
    return yes("Registered", Reason.REGISTERED) if so else no("Registered", Reason.NOT_REGISTERED)


def _fresh(
    runner: RunnerSeen, seen: GroupSeen, status: RunnerStatus, rows: Iterable[Registration], findings: Iterable[Finding]
) -> RunnerStatus | None:
    """The status with taints and conditions; None if it says what was said before."""
    assert runner.resource is not None
    old, generation = runner.resource.status, runner.resource.metadata.generation
    said = (*findings, *taints_applied(runner.declared.problem, old.conditions))
    fresh = status.model_copy(
        update={
            "taints": next((row.taints for row in rows), "") or None,
            "observed_generation": generation,
            "conditions": merge(old.conditions, said, generation, seen.now),
        }
    )
    return None if fresh == old else fresh


def taints_applied(problem: str, old: Iterable[Condition]) -> Iterator[Finding]:
    """Said only where it ever mattered: a taint that cannot be read, and later that all is well again."""
    if problem:
        yield no("TaintsApplied", Reason.INVALID_TAINT, f"{problem}; what was in force before stays")
    elif any(each.type == "TaintsApplied" for each in old):
        yield yes("TaintsApplied", Reason.APPLIED)
