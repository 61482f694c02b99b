"""One decision about a group's size: what the queue wants, and what each rule makes of it, in order."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from paceline_operator.api.autoscaling import Autoscaling
from paceline_operator.domain.scaling.demand import MICRO, Demand, demand_of
from paceline_operator.domain.scaling.history import History
from paceline_operator.domain.scaling.limits import limit_rate, stabilize, tolerate
from paceline_operator.domain.scaling.reasons import ScaleReason, Verdict
from paceline_operator.domain.scaling.rules import rules_of
from paceline_operator.domain.scaling.schedules import Floor, floor_at
from paceline_operator.domain.scaling.signals import Signals, known

__all__ = ["Decision", "Proposal", "ScaleReason", "decide", "decide_blind", "record_change"]

SOONEST: Final = timedelta(seconds=1)
"""A growing demand is looked at again after this at the earliest: it grows all the time."""
Inputs = Mapping[str, int | float | str | None]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What one rule made of the number, for people."""

    rule: str
    replicas: int
    text: str


@dataclass(frozen=True, slots=True)
class Decision:
    """How many runners a group should have, and why."""

    replicas: int
    reason: ScaleReason
    limited_by: str | None
    """The limit that kept the size from following demand, as a field of the autoscaling block."""
    inputs: Inputs
    proposals: tuple[Proposal, ...]
    """In the order of the rules; one that had no objection is not there."""
    history: History
    """For the next decision."""
    again_at: datetime | None
    """When time alone may change the decision."""
    at: datetime


def decide(spec: Autoscaling, slots: int, current: int, signals: Signals, history: History, now: datetime) -> Decision:
    """The size that the queue wants, within what the spec allows.

    A size outside of the bounds goes to the bound, and nothing else is looked at: the next decision, once that is done,
    follows demand.
    """
    floor = floor_at(spec, now)
    demand = demand_of(spec, slots, signals)
    past = history.as_of(now)
    verdicts: list[Verdict]
    if current > spec.max_replicas or current < floor.replicas:
        verdicts = [_bound(spec, floor, above=current > spec.max_replicas)]
        kept = past
    else:
        if not past.recommendations:  # as the HPA does: nothing is known of the time before, so the size was right
            past = past.recommended(current, now)
        verdicts, raw = _ruled(spec, floor, demand, current, past, now)
        kept = past.recommended(raw, now)
    last = verdicts[-1] if verdicts else None
    moments = [floor.until, *(each.again_at for each in verdicts)]
    if demand.grows_in is not None and demand.runners < spec.max_replicas:
        moments.append(now + max(timedelta(seconds=demand.grows_in), SOONEST))
    return Decision(
        replicas=last.replicas if last else demand.runners,
        reason=last.reason if last else ScaleReason.WITHIN_RANGE,
        limited_by=last.limited_by if last and last.replicas != demand.runners else None,
        inputs=_inputs(signals, demand, current, floor),
        proposals=(
            Proposal("demand", demand.runners, demand.text),
            *(Proposal(each.rule, each.replicas, each.text) for each in verdicts),
        ),
        history=kept,
        again_at=min((each for each in moments if each is not None and each > now), default=None),
        at=now,
    )


def decide_blind(spec: Autoscaling, current: int, unread_since: datetime, history: History, now: datetime) -> Decision:
    """The size while the queue cannot be read: the present one, or more where a fallback asks for it; never fewer.

    It counts as recommended, so that windows hold when the queue is back.
    """
    size, reason, again_at = current, ScaleReason.FROZEN, None
    text = "the queue cannot be read: the size stays"
    if spec.fallback is not None:
        due = unread_since + timedelta(seconds=spec.fallback.after_seconds)
        if now < due:
            again_at = due
        else:
            size, reason = max(current, min(spec.fallback.replicas, spec.max_replicas)), ScaleReason.FALLBACK
            text = f"the queue could not be read for {spec.fallback.after_seconds} s: at least {size}"
    return Decision(
        replicas=size,
        reason=reason,
        limited_by=None if reason is ScaleReason.FROZEN else "fallback.replicas",
        inputs={"current": current, "unreadSeconds": max(0, int((now - unread_since).total_seconds()))},
        proposals=(Proposal("fallback" if reason is ScaleReason.FALLBACK else "frozen", size, text),),
        history=history.as_of(now).recommended(size, now),
        again_at=again_at,
        at=now,
    )


def record_change(history: History, old: int, new: int, now: datetime) -> History:
    """A change of the size that was carried out, which policies count."""
    return history.as_of(now).changed(new - old, now)


def _ruled(
    spec: Autoscaling, floor: Floor, demand: Demand, current: int, past: History, now: datetime
) -> tuple[list[Verdict], int]:
    """What each rule said that had something to say, and the recommendation that windows look back on."""
    up, down = rules_of(spec.behavior)
    found: list[Verdict] = []
    size = demand.runners
    if verdict := tolerate(demand, current, up, down):
        found.append(verdict)
        size = verdict.replicas
    raw = size
    if verdict := stabilize(size, current, up, down, past, now):
        found.append(verdict)
        size = verdict.replicas
    verdict = limit_rate(size, current, up, down, past, now)
    if verdict and (verdict.replicas < spec.max_replicas if size > current else verdict.replicas > floor.replicas):
        found.append(verdict)
        size = verdict.replicas
    if size > spec.max_replicas or size < floor.replicas:
        found.append(_bound(spec, floor, above=size > spec.max_replicas))
    return found, raw


def _bound(spec: Autoscaling, floor: Floor, *, above: bool) -> Verdict:
    if above:
        text = f"maxReplicas is {spec.max_replicas}"
        return Verdict("bounds", spec.max_replicas, ScaleReason.TOO_MANY, "maxReplicas", text)
    reason = ScaleReason.SCHEDULE if floor.scheduled else ScaleReason.TOO_FEW
    return Verdict("bounds", floor.replicas, reason, floor.field, f"{floor.field} is {floor.replicas}")


def _inputs(signals: Signals, demand: Demand, current: int, floor: Floor) -> Inputs:
    found: dict[str, int | float | str | None] = {
        "current": current,
        "ready": signals.ready,
        "running": signals.running,
        "oldestSeconds": _rounded(signals.oldest_seconds),
        "arrivalRate": _rounded(signals.arrival_rate),
        "serviceSeconds": _rounded(signals.service_seconds),
        "slotsNeeded": _rounded(demand.slots / MICRO),
        "floor": floor.replicas,
    }
    if signals.tainted:
        found["tainted"] = signals.tainted
    return found


def _rounded(value: float | None) -> float | None:
    measured = known(value)
    return None if measured is None else round(measured, 3)
