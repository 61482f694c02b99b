"""What a decision about the size is made from."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signals:
    """What the queue says about one group, from one snapshot."""

    ready: int
    """Claimable jobs that are this group's share."""
    running: int
    """Jobs that its runners hold."""
    oldest_seconds: float | None = None
    """Age of the oldest ready job."""
    arrival_rate: float | None = None
    """Jobs a second that became ready, over the last minute."""
    service_seconds: float | None = None
    """Mean time of an attempt over the last five minutes; None: unknown."""
    tainted: int = 0
    """Runners in the cluster that stay and have a NoClaim taint of their own."""
    tainted_running: int = 0
    """Jobs that those hold."""
    tolerating: int = 0
    """Of `ready`: jobs that the tainted ones may claim, at most their free slots."""


def known(value: float | None) -> float | None:
    """A measured value; None where it cannot have been measured: NaN, infinite or negative."""
    return value if value is not None and math.isfinite(value) and value >= 0 else None
