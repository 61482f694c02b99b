"""What users say by annotation."""

from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.names import PAUSED, ROLLOUT_PAUSED


def is_paused(group: RunnerGroup) -> bool:
    """Nothing is claimed and nothing is scaled; who runs stays."""
    return group.metadata.annotations.get(PAUSED) == "true"


def is_rollout_paused(group: RunnerGroup) -> bool:
    """Nobody is restarted for a new revision; everything else goes on."""
    return is_paused(group) or group.metadata.annotations.get(ROLLOUT_PAUSED) == "true"
