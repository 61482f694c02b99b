"""What the operator tells about an update: how far it is, what it waits for, and why it went back."""

from paceline_operator.domain.conditions import Finding, no, unknown, yes
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.roll import Roll, RollPhase
from paceline_operator.domain.seen import GroupSeen


def report_roll(seen: GroupSeen, roll: Roll | None) -> Finding | None:
    """What `Progressing` says while not all runners have the revision of the spec; None if there is nothing to say."""
    if roll is None:
        return None
    if roll.failed is not None:
        return _failed(seen, roll)
    if roll.phase is RollPhase.DONE:
        return None
    there = f"{roll.updated} of {roll.updated + roll.outdated} runners have revision {roll.target}"
    if roll.phase is RollPhase.PAUSED:
        return unknown("Progressing", Reason.ROLLOUT_PAUSED, f"{there}; it goes on when the annotation is removed")
    if roll.waits_for:
        return no("Progressing", Reason.ROLLOUT_STALLED, f"{there}; it waits for {roll.waits_for}")
    if roll.phase is RollPhase.CANARY:
        seconds = seen.group.spec.update_strategy.canary.observe_seconds
        watched = f"they are watched for {seconds} s" if roll.again_at else "the first are starting"
        return yes("Progressing", Reason.ROLLING_OUT, f"{there}: {watched} before the others follow")
    return yes("Progressing", Reason.ROLLING_OUT, there)


def _failed(seen: GroupSeen, roll: Roll) -> Finding:
    """Why it went back; the words of when that was found stay."""
    stopped = roll.phase is RollPhase.STOPPED
    reason = Reason.ROLLOUT_STOPPED if stopped else Reason.ROLLED_BACK
    if not roll.failure:
        for each in seen.group.status.conditions:
            if each.type == "Progressing" and each.reason == reason and each.message:
                return no("Progressing", reason, each.message)
    why = roll.failure or "it failed before"
    then = (
        "nobody else gets it, and nobody goes back: change the template"
        if stopped
        else f"revision {roll.target} stays until the template or paceline.dev/restartedAt changes"
    )
    return no("Progressing", reason, f"revision {roll.failed} failed: {why}. {then[0].upper()}{then[1:]}")
