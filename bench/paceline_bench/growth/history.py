"""More and more finished jobs: a week of them, and an eighth day that goes."""

import random
import time
from typing import Final

from paceline import NewJob
from paceline.job import JobId
from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.growth.backlog import weight
from paceline_bench.growth.calls import claiming, measured, ticking
from paceline_bench.growth.places import Place, place, require_room
from paceline_bench.growth.sizes import Effort, Size
from paceline_bench.measure import Measurement
from paceline_bench.systems import NOOP, PAYLOAD
from paceline_bench.systems.paceline import POOL

BYTES: Final = "bytes_history"
ROW: Final = 200
"""Bytes of a finished job with its index, at most."""
JOBS: Final = 1_000
DAYS: Final = 7
STRIDE: Final = 100_000_000
"""Between the numbers of two days' jobs: an older day has lower ones."""
# Partitions of past days are made for rows that came late, so a late row asks for them.
PAST: Final = """
INSERT INTO paceline.history_late
SELECT 0, now() - make_interval(days => $1), now(), NULL, 0, NULL, 0, 0, 5, 1, 0, 'd'"""
FILL: Final = """
INSERT INTO paceline.history (id, finished_at, enqueued_at, claimed_at, fence, incarnation, lane, kind, priority, tries,
                              losses, outcome)
SELECT $1::bigint + n, date_trunc('day', now(), 'UTC') - make_interval(days => $2) + n * interval '1 microsecond',
       now(), now(), n, NULL, l.id, l.kind, 5, 1, 0, 'd'
  FROM generate_series($3::bigint, $4::bigint) n, (SELECT x.id, x.kind FROM paceline.lane x ORDER BY x.id LIMIT 1) l"""
SLOW: Final = "UPDATE paceline.tick SET next_at = '-infinity', slow_at = '-infinity'"
OLD: Final = """
SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
 WHERE i.inhparent = 'paceline.history'::regclass
   AND right(c.relname, 8) < to_char(now() AT TIME ZONE 'UTC' - interval '7 days', 'YYYYMMDD')"""


async def measure(run: Run, server: PostgresServer, size: Size) -> list[Measurement]:
    """Each size is the one before and more; the day that goes is there only while its end is timed."""
    require_room(size.history[-1] * (DAYS + 1) // DAYS, ROW)
    found: list[Measurement] = []
    async with place(server) as here:
        await here.queue.enqueue_many([NewJob(kind=NOOP, payload=dict(PAYLOAD))] * JOBS)
        await here.raw.fetchval("SELECT setval('paceline.job_id_seq', $1::bigint)", STRIDE * 20)
        there = 0
        with run.report.task("history", len(size.history)) as task:
            for jobs in size.history:
                await past(here, DAYS - 1)
                for day in range(DAYS):
                    await fill(here, day, there // DAYS + 1, jobs // DAYS)
                there = jobs
                await here.settle()
                found += await at(here, jobs, size.effort)
                found += [await retire(here, jobs) for _ in range(3)]
                task.advance(f"{jobs:,}")
        found.append(Measurement(BYTES, await weight(here, "history"), "bytes/job"))
    return found


async def past(here: Place, days: int) -> None:
    """Partitions back to so many days ago."""
    await here.raw.execute(PAST, days)
    await here.raw.execute("SELECT paceline.make_partitions()")
    await here.raw.execute("DELETE FROM paceline.history_late")


async def fill(here: Place, day: int, first: int, last: int) -> None:
    """Some of a day's jobs."""
    await here.raw.execute(FILL, number(day, 0), day, first, last, timeout=900)


def number(day: int, job: int) -> int:
    """The id of the n-th job of so many days ago."""
    return (DAYS + 3 - day) * STRIDE + job


async def at(here: Place, jobs: int, effort: Effort) -> list[Measurement]:
    """All calls at one size."""
    end = f"{jobs}_history"
    one = await here.register("bench")
    dice = random.Random(0)  # noqa: S311 -- no secret; the same jobs in every run

    async def find() -> None:
        job = JobId(number(dice.randrange(DAYS), dice.randrange(jobs // DAYS) + 1))
        if await here.reader.job_detail(job) is None:
            raise NotMeasuredError("a finished job was not found")

    return [
        *await claiming(f"claim_{end}", one, here.queue, effort, slow=f"claim99_{end}"),
        *await measured(f"find_{end}", find, effort),
        *await measured(f"list_{end}", lambda: here.reader.list_finished(POOL), effort),
        *await ticking(f"tick_{end}", here.database, effort),
    ]


async def retire(here: Place, jobs: int) -> Measurement:
    """The housekeeping that drops a day of a seventh of all jobs."""
    await past(here, DAYS + 1)
    await fill(here, DAYS + 1, 1, jobs // DAYS)
    if await here.raw.fetchval(OLD) != 1:
        raise NotMeasuredError("there is no old day")
    await here.raw.execute("CHECKPOINT")
    await here.raw.execute(SLOW)
    began = time.perf_counter()
    await here.database.value("SELECT paceline.tick()")
    took = time.perf_counter() - began
    await here.raw.execute("UPDATE paceline.tick SET slow_at = 'infinity'")
    if await here.raw.fetchval(OLD) != 0:
        raise NotMeasuredError("the old day is still there")
    return Measurement(f"retire_{jobs}_history", took * 1000, "ms")
