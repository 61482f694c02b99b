"""Why a size is what it is."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ScaleReason(StrEnum):
    """The rule that had the last word; where the HPA has a word for it, that one."""

    WITHIN_RANGE = "DesiredWithinRange"
    """The size is what the queue wants."""
    WITHIN_TOLERANCE = "WithinTolerance"
    """The present one stays: demand is close enough."""
    UP_STABILIZED = "ScaleUpStabilized"
    """It grows only to the lowest size of the window of behavior.scaleUp."""
    DOWN_STABILIZED = "ScaleDownStabilized"
    """It shrinks only to the highest size of the window of behavior.scaleDown."""
    UP_LIMIT = "ScaleUpLimit"
    """It grows as far as the policies of behavior.scaleUp allow."""
    DOWN_LIMIT = "ScaleDownLimit"
    """It shrinks as far as the policies of behavior.scaleDown allow."""
    DISABLED = "ScalingDisabled"
    """The present one stays: selectPolicy is Disabled in that direction."""
    TOO_MANY = "TooManyReplicas"
    """It is maxReplicas."""
    TOO_FEW = "TooFewReplicas"
    """It is minReplicas."""
    SCHEDULE = "Schedule"
    """It is the minReplicas of a schedule."""
    FALLBACK = "Fallback"
    """At least fallback.replicas: the queue could not be read for fallback.afterSeconds."""
    FROZEN = "Frozen"
    """The present one stays: the queue cannot be read."""


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
