"""What the operator tells about how a group scales."""

from collections.abc import Iterator

from paceline_operator.api.v1alpha1 import Recommendation
from paceline_operator.domain.conditions import Finding, no, unknown, yes
from paceline_operator.domain.levers import is_paused
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.scaling.decide import Decision
from paceline_operator.domain.scaling.rules import tolerance_problems
from paceline_operator.domain.scaling.schedules import schedule_problems
from paceline_operator.domain.seen import GroupSeen

ACTIVE = "ScalingActive"


def recommend(seen: GroupSeen) -> Recommendation | None:
    """The last decision; one that says the same as the one before is not told again, whatever its numbers are."""
    decided, old, mode = seen.decided, seen.group.status.recommendation, seen.group.spec.scaling_mode
    if mode in ("External", "Off"):
        return None
    told = None if old is None else (old.replicas, old.reason, old.limited_by)
    if decided is None or told == (decided.replicas, str(decided.reason), decided.limited_by):
        return old
    return Recommendation(
        replicas=decided.replicas,
        reason=decided.reason,
        limited_by=decided.limited_by,
        inputs={name: value for name, value in decided.inputs.items() if value is not None},
        at=decided.at.replace(microsecond=0),
    )


def explain(decided: Decision) -> str:
    """What each rule said, in one line."""
    return "; ".join(each.text for each in decided.proposals)


def report_scaling(seen: GroupSeen) -> Iterator[Finding]:
    """Who decides the size, and whether something keeps it from following the queue."""
    yield _active(seen)
    if seen.decided is not None and seen.group.spec.scaling_mode in ("Internal", "Recommend"):
        limited = seen.decided.limited_by is not None
        finding = yes if limited else no
        yield finding("ScalingLimited", seen.decided.reason, explain(seen.decided) if limited else "")


def _active(seen: GroupSeen) -> Finding:
    match seen.group.spec.scaling_mode:
        case "External":
            return yes(ACTIVE, Reason.EXTERNAL, "spec.replicas is another's to write: an HPA's or KEDA's")
        case "Off":
            return no(ACTIVE, Reason.MANUAL, "spec.replicas counts")
        case mode:
            return _by_queue(seen, recommend_only=mode == "Recommend")


def _by_queue(seen: GroupSeen, *, recommend_only: bool) -> Finding:
    decided, scaling = seen.decided, seen.group.spec.autoscaling
    if seen.registrations is None:
        return no(ACTIVE, Reason.QUEUE_UNREADABLE, explain(decided) if decided else "the size stays")
    if is_paused(seen.group):
        return no(ACTIVE, Reason.PAUSED, "the size stays until paceline.dev/paused is removed")
    if decided is None:
        return unknown(ACTIVE, Reason.QUEUE_UNKNOWN, "the queue has not been read yet: the size stays")
    if scaling is not None and (problems := schedule_problems(scaling) + tolerance_problems(scaling)):
        return no(ACTIVE, Reason.INVALID_SCALING, "; ".join(problems))
    if recommend_only:
        return no(ACTIVE, Reason.RECOMMEND_ONLY, "spec.replicas counts; status.recommendation says what would be done")
    return yes(ACTIVE, Reason.INTERNAL, "the queue decides; spec.replicas is neither read nor written")
