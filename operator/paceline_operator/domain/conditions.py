"""Conditions: what is true about an object, since when and why."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from paceline_operator.api.meta import Condition
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.scaling.reasons import ScaleReason

LONGEST_MESSAGE = 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """What a condition shall say."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: Reason | ScaleReason
    message: str = ""


def yes(type: str, reason: Reason | ScaleReason, message: str = "") -> Finding:  # noqa: A002 -- what Kubernetes calls it
    """It is so."""
    return Finding(type, "True", reason, message)


def no(type: str, reason: Reason | ScaleReason, message: str = "") -> Finding:  # noqa: A002
    """It is not so."""
    return Finding(type, "False", reason, message)


def unknown(type: str, reason: Reason | ScaleReason, message: str = "") -> Finding:  # noqa: A002
    """Nobody knows."""
    return Finding(type, "Unknown", reason, message)


def merge(
    old: Iterable[Condition], findings: Iterable[Finding], generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Findings as conditions; one keeps its time for as long as its status does not change."""
    before = {each.type: each for each in old}
    return tuple(_condition(before.get(each.type), each, generation, now) for each in findings)


def _condition(old: Condition | None, finding: Finding, generation: int, now: datetime) -> Condition:
    kept = old is not None and old.status == finding.status
    return Condition(
        type=finding.type,
        status=finding.status,
        reason=finding.reason,
        message=finding.message[:LONGEST_MESSAGE],
        observed_generation=generation,
        last_transition_time=old.last_transition_time if old is not None and kept else now,
    )
