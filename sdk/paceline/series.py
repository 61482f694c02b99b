"""How a pool stood over the last day: samples that the housekeeping takes every ten seconds."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from paceline.database import Database
from paceline.seen import read

KEPT: Final = timedelta(hours=24)
"""Older samples are deleted."""
POINTS: Final = 360
"""So many are told at most: a chart has hardly more columns to draw them in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """How many jobs were ready in a pool over the last quarter of an hour; the two go together."""

    pool: str
    at: tuple[datetime, ...]
    ready: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How a pool stood, or for longer spans the most of several; what was counted is their sum."""

    at: datetime
    seconds: float
    """What `done` and `failed` were counted over."""
    ready: int
    """This and the other numbers of jobs end at 10,000; with more than ten pools at 100,000 divided by their number,
    but not below 1,000."""
    scheduled: int
    blocked: int
    running: int
    dead: int
    oldest_seconds: float | None
    """How long the oldest ready job had waited."""
    busy: int
    """Runners that held a job."""
    idle: int
    draining: int
    desired: int | None
    """Runners that the operator last decided on; None: nobody decides."""
    done: int | None
    """Attempts that ended well; None for the last of several samples together, while others of it are to come."""
    failed: int | None


async def list_samples(database: Database, pool: str, span: timedelta, points: int = POINTS) -> list[Sample]:
    """The samples of the last `span`, oldest first. While a pool is at rest none is taken."""
    sql = "SELECT * FROM paceline.list_samples($1, $2, $3)"
    return [read(Sample, row) for row in await database.rows(sql, pool, span.total_seconds(), points)]


async def list_depths(database: Database) -> list[Depth]:
    """Of every pool that the login may read and that was not at rest."""
    return [read(Depth, row) for row in await database.rows("SELECT * FROM paceline.list_depths()")]
