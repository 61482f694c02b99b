"""What users say by annotation."""

from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.names import PAUSED


def is_paused(group: RunnerGroup) -> bool:
    """Nothing is claimed and nothing is scaled; who runs stays."""
    return group.metadata.annotations.get(PAUSED) == "true"
