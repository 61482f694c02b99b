"""Groups that follow their queue, and what they decided."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from paceline.database import Database
from paceline.reading import Reader
from paceline.scaling import DecisionSeen
from paceline_bench.site import INSTALL, NAMESPACE

MOST: Final = 10_000
"""Decisions, in an hour: with one a second there are fewer."""


def block(most: int) -> Mapping[str, object]:
    """From none to so many runners, and back as soon as nobody needs them."""
    return {"minReplicas": 0, "maxReplicas": most, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}


async def sizes(database: Database, group: str, began: datetime) -> tuple[tuple[float, float], ...]:
    """What the operator decided, by the seconds since a moment."""
    reader = Reader(database)
    (found,) = await reader.find_groups(f"{NAMESPACE}/{group}", INSTALL)
    return as_points(reversed(await reader.list_decisions(found.id, most=MOST)), began)


def as_points(decisions: Iterable[DecisionSeen], began: datetime) -> tuple[tuple[float, float], ...]:
    """The oldest first; what was decided before the moment held at it."""
    before = 0.0
    points = []
    for each in decisions:
        seconds = (each.at - began).total_seconds()
        if seconds < 0:
            before = float(each.replicas)
        else:
            points.append((seconds, float(each.replicas)))
    return (0.0, before), *points
