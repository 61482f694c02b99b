"""What is read at the beginning and at the end of a cell, and what is sampled between."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

import psutil

from paceline_bench.assess.fleet import ACTIVE, Counts, Fleet
from paceline_bench.assess.load import Begun
from paceline_bench.assess.place import Place, cpu

if TYPE_CHECKING:
    import asyncpg

EVERY: Final = 0.5
STATE: Final = """
SELECT clock_timestamp() AS at, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal,
       (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal')::float8 AS syncs,
       (SELECT sum(fsync_time) FROM pg_stat_io WHERE object = 'wal')::float8 AS sync_time"""
READY: Final = "SELECT count(*) FROM paceline.job WHERE state = 'r'"
LEFT: Final = "SELECT count(*) FROM paceline.job"
SAMPLE: Final = f"""
SELECT ({READY}) AS waiting,
       (SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND backend_type = 'client backend'
           AND application_name <> 'bench' AND pid <> pg_backend_pid()) AS connections"""
WAITED: Final = """
SELECT count(*) AS jobs, percentile_disc(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY waited) AS waited,
       count(*) FILTER (WHERE NOT claimed) AS unclaimed
  FROM (SELECT extract(epoch FROM coalesce(claimed_at, clock_timestamp()) - enqueued_at)::float8 * 1000 AS waited,
               claimed_at IS NOT NULL AS claimed
          FROM (SELECT enqueued_at, claimed_at FROM paceline.history
                UNION ALL SELECT enqueued_at, claimed_at FROM paceline.history_late
                UNION ALL SELECT enqueued_at, claimed_at FROM paceline.job) every_job
         WHERE enqueued_at >= $1 AND enqueued_at < $2) job"""
DONE: Final = """
SELECT (SELECT count(*) FROM paceline.history WHERE finished_at >= $1 AND finished_at < $2)
     + (SELECT count(*) FROM paceline.history_late WHERE finished_at >= $1 AND finished_at < $2)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One moment. The database's own numbers come first: whoever is asked next takes its time."""

    at: datetime
    """By the database's clock."""
    clock: float
    """By that of this machine."""
    due: int
    """Jobs that have come, those included that nobody has begun to enqueue."""
    wal: float
    syncs: float
    sync_time: float
    server: float
    """Seconds of processors so far."""
    coordinators: float
    runners: float
    machine: tuple[float, float]
    """Seconds of all cores: busy ones, and all."""
    active: int
    """Runners whose registration lives."""
    counts: Counts
    metrics: Sequence[str]
    """What each gateway says."""


async def mark(place: Place, crew: Fleet, begun: Begun, connection: "asyncpg.Connection[asyncpg.Record]") -> Mark:
    """Now."""
    row = await connection.fetchrow(STATE)
    assert row is not None
    clock, due, machine = time.time(), begun.due(time.monotonic()), busy()
    return Mark(
        at=row["at"], clock=clock, due=due, wal=row["wal"], syncs=row["syncs"], sync_time=row["sync_time"],
        server=cpu(place.server), coordinators=cpu(*place.coordinators), runners=crew.cpu(), machine=machine,
        active=await connection.fetchval(ACTIVE), counts=await crew.counts(),
        metrics=[await door.metrics() for door in place.doors],
    )  # fmt: skip


def busy() -> tuple[float, float]:
    """Seconds in which cores computed, for us or anybody; and all seconds."""
    times = psutil.cpu_times()
    every = sum(times) - times.guest - times.guest_nice  # which are part of user and nice
    return every - times.idle - times.iowait, every


@dataclass(frozen=True, slots=True)
class Samples:
    """What waited, and how many were connected, again and again."""

    waiting: Sequence[int]
    connections: Sequence[int]

    @property
    def ends(self) -> tuple[int, int]:
        """The most that waited in the first fifth, and the fewest in the last: a burst at either end is no growth."""
        some = max(1, len(self.waiting) // 5)
        return max(self.waiting[:some], default=0), min(self.waiting[-some:], default=0)


async def sample(
    connection: "asyncpg.Connection[asyncpg.Record]", load: "asyncio.Task[None]", seconds: float
) -> Samples:
    """For so long; whoever puts jobs in must not fail meanwhile."""
    found, until = [], time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        row = await connection.fetchrow(SAMPLE)
        assert row is not None
        found.append((row["waiting"], row["connections"]))
        await asyncio.wait({load}, timeout=min(EVERY, left))
        if load.done():
            load.result()
    return Samples([each[0] for each in found], [each[1] for each in found])
