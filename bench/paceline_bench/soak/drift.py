"""Whether something stays as it is: a line through all that was seen of it, and where that leads."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

Points = Sequence[tuple[float, float]]
"""Seconds since the beginning, and what was seen then."""
WARM: Final = 0.2
"""Share of the time at the beginning that does not count: pools fill, caches too."""
HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Line:
    """What fits best, by least squares."""

    per_hour: float
    drift: float
    """What the line adds from its beginning to its end, in multiples of the middle value."""


def settled(points: Points) -> Points:
    """Without the beginning."""
    end = points[-1][0] if points else 0.0
    return [point for point in points if point[0] >= WARM * end]


def line(points: Points) -> Line:
    """Through what is left when the beginning is left out."""
    kept = settled(points)
    if len(kept) < 3:
        raise ValueError(f"{len(kept)} points make no line (look for longer)")
    moments, values = zip(*kept, strict=True)
    slope, _ = statistics.linear_regression(moments, values)
    middle = statistics.median(values)
    return Line(slope * HOUR, slope * (moments[-1] - moments[0]) / middle if middle else 0.0)


def late(points: Points) -> float:
    """What the line through the second half adds in an hour, or in all of it where that is shorter.

    A share of the middle forgives a large process more than a small one; and what grows at first and then no more is
    told from what goes on.
    """
    half = [point for point in points if point[0] >= points[-1][0] / 2]
    if len(half) < 3:
        raise ValueError(f"{len(half)} points make no line (look for longer)")
    moments, values = zip(*half, strict=True)
    slope = float(statistics.linear_regression(moments, values).slope)
    return slope * min(half[-1][0] - half[0][0], HOUR)


def growth(points: Points) -> float:
    """The most of the last third in multiples of the most of the third before it: what is bounded has seen it all."""
    kept = settled(points)
    third = len(kept) // 3
    if not third:
        raise ValueError(f"{len(kept)} points make no thirds (look for longer)")
    before = max(value for _, value in kept[third : 2 * third])
    after = max(value for _, value in kept[2 * third :])
    return after / before if before else 1.0 if not after else float("inf")
