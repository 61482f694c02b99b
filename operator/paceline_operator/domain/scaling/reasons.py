"""Why a size is what it is."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ScaleReason(StrEnum):
    """The rule that had the last word; where the HPA has a word for it, that one."""

    WITHIN_RANGE = "DesiredWithinRange"
    """The size is what the queue wants."""
    WITHIN_TOLERANCE = "WithinTolerance"
    UP_STABILIZED = "ScaleUpStabilized"
    DOWN_STABILIZED = "ScaleDownStabilized"
    UP_LIMIT = "ScaleUpLimit"
    DOWN_LIMIT = "ScaleDownLimit"
    DISABLED = "ScalingDisabled"
    """selectPolicy is Disabled in this direction."""
    TOO_MANY = "TooManyReplicas"
    """maxReplicas."""
    TOO_FEW = "TooFewReplicas"
    """minReplicas."""
    SCHEDULE = "Schedule"
    """The minReplicas of a schedule."""
    FALLBACK = "Fallback"
    """The queue cannot be read for long."""
    FROZEN = "Frozen"
    """The queue cannot be read."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one rule made of the number."""

    rule: str
    replicas: int
    reason: ScaleReason
    limited_by: str
    text: str
    again_at: datetime | None = None
    """When time alone ends it."""
