"""How many runners a group shall have, and who said so."""

from dataclasses import dataclass
from enum import StrEnum

from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.levers import is_paused
from paceline_operator.domain.scaling.decide import Decision


class SizeReason(StrEnum):
    """The rule that had the last word."""

    REPLICAS = "Replicas"
    """spec.replicas says so: by hand, or written by an HPA or KEDA."""
    NO_TEMPLATE = "NoTemplate"
    """The group has only runners outside the cluster."""
    DELETED = "Deleted"
    DRAINED = "Drained"
    """A Drain taint is on the whole group."""
    PAUSED = "Paused"
    """The size stays as it is."""
    QUEUE = "Queue"
    """autoscaling.mode is Internal: the last decision says why."""
    UNKNOWN = "Unknown"
    """It will be decided by the queue, of which nothing is known yet: the size stays as it is."""


@dataclass(frozen=True, slots=True)
class SizeDecision:
    """A size and its reason."""

    replicas: int
    reason: SizeReason


def decide_size(
    group: RunnerGroup, current: int, decided: Decision | None = None, *, drained: bool = False
) -> SizeDecision:
    """The size in force; `current` is how many Runners there are that stay, `drained` that none of the group shall.

    `decided` is what the queue wants, which counts where the mode is Internal.
    """
    if group.metadata.deletion_timestamp is not None:
        return SizeDecision(0, SizeReason.DELETED)
    if drained:
        return SizeDecision(0, SizeReason.DRAINED)
    if group.spec.template is None:
        return SizeDecision(0, SizeReason.NO_TEMPLATE)
    if is_paused(group):
        return SizeDecision(current, SizeReason.PAUSED)
    if group.spec.scaling_mode == "Internal":
        if decided is None:
            return SizeDecision(current, SizeReason.UNKNOWN)
        return SizeDecision(decided.replicas, SizeReason.QUEUE)
    return SizeDecision(group.spec.replicas, SizeReason.REPLICAS)
