"""What a simulation plays, and what comes out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Load:
    """Jobs, in the order in which they become ready."""

    start: datetime
    ready: Sequence[float]
    """Seconds after the start, ascending."""
    service: Sequence[float]
    """How long each of them takes."""
    length: float = 0.0
    """Seconds that are looked at, also when nothing comes any more."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a decision saw and left behind."""

    at: float
    replicas: int
    ready: int


@dataclass(frozen=True, slots=True)
class Simulated:
    """What it cost, and how long jobs have waited."""

    jobs: int
    unfinished: int
    """Jobs that never got a runner, or did not end within 30 days."""
    seconds: float
    """Until all jobs were done and the group was as small as it gets."""
    runner_hours: float
    wait_p50: float
    wait_p95: float
    wait_p99: float
    wait_max: float
    most_runners: int
    scale_ups: int
    scale_downs: int
    points: tuple[Point, ...]


def rank(ordered: Sequence[float], share: float) -> float:
    """The value that so large a share does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0
