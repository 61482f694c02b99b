"""A Prometheus histogram as a program shows it, and what can be said of the times in it."""

import math
import re
from collections.abc import Mapping
from typing import Final

Buckets = Mapping[float, float]
"""How many took at most so long, by the upper bounds."""
LINE: Final = re.compile(r'^(\w+)_bucket\{(?:.*,)?le="([^"]+)"\} (\S+)$', re.MULTILINE)


def read(text: str, name: str) -> dict[float, float]:
    """The buckets of a histogram, those of all its labels together."""
    buckets: dict[float, float] = {}
    for found, bound, count in LINE.findall(text):
        if found == name:
            buckets[float(bound)] = buckets.get(float(bound), 0.0) + float(count)
    return buckets


def since(before: Buckets, after: Buckets) -> dict[float, float]:
    """What has come between two looks."""
    return {bound: count - before.get(bound, 0.0) for bound, count in after.items()}


def quantile(buckets: Buckets, share: float) -> float | None:
    """As Prometheus computes it: linear within a bucket; beyond the last bound, that bound. None if all is empty."""
    bounds = sorted(buckets)
    if not bounds or not (total := buckets[bounds[-1]]):
        return None
    rank, low, below = share * total, 0.0, 0.0
    for bound in bounds:
        if buckets[bound] >= rank:
            if math.isinf(bound):
                return low
            return low + (bound - low) * (rank - below) / max(buckets[bound] - below, 1e-9)
        low, below = bound, buckets[bound]
    return low  # pragma: no cover -- the last bucket holds all
