"""A pool with more and more jobs that wait."""

from typing import Final

from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.growth.calls import CONNECTIONS, claiming, enqueuing, measured, through, ticking
from paceline_bench.growth.places import Place, place, require_room
from paceline_bench.growth.sizes import Effort, Size
from paceline_bench.measure import Measurement
from paceline_bench.queue.contents import copy_rows
from paceline_bench.systems import NOOP
from paceline_bench.systems.paceline import POOL, SYSTEM

BYTES: Final = "bytes_backlog"
ROW: Final = 500
"""Bytes of a waiting job with its indexes, at most."""
WEIGHT: Final = """
SELECT (pg_total_relation_size('{0}') + coalesce(sum(pg_total_relation_size(inhrelid)), 0))::float8
       / (SELECT count(*) FROM {0}) FROM pg_inherits WHERE inhparent = '{0}'::regclass"""


async def measure(run: Run, server: PostgresServer, size: Size) -> list[Measurement]:
    """Each size is the one before and more."""
    require_room(size.backlog[-1], ROW)
    found: list[Measurement] = []
    async with place(server) as here:
        with run.report.task("backlog", len(size.backlog)) as task:
            for jobs in size.backlog:
                await grow(here, jobs)
                found += await at(here, jobs, size.effort)
                task.advance(f"{jobs:,}")
        found.append(Measurement(BYTES, await weight(here, "job"), "bytes/job"))
    return found


async def grow(here: Place, jobs: int) -> None:
    """Until so many wait: copies of one that was enqueued."""
    await here.queue.enqueue(NOOP, {})
    there = await here.raw.fetchval("SELECT count(*) FROM paceline.job WHERE state = 'r'")
    await copy_rows(here.raw, SYSTEM, max(0, jobs - there), {})
    await here.settle()


async def at(here: Place, jobs: int, effort: Effort) -> list[Measurement]:
    """All calls at one size."""
    end = f"{jobs}_backlog"
    crew = [await here.register(f"bench-{number}") for number in range(CONNECTIONS)]
    return [
        *await claiming(f"claim_{end}", crew[0], here.queue, effort, slow=f"claim99_{end}"),
        *await through(f"through_{end}", crew, here.queue, effort.rounds),
        *await enqueuing(f"enqueue_{end}", here.queue, effort),
        *await ticking(f"tick_{end}", here.database, effort),
        *await measured(f"survey_{end}", here.survey, effort),
        *await measured(f"list_{end}", lambda: here.reader.list_jobs(POOL), effort),
    ]


async def weight(here: Place, table: str) -> float:
    """Bytes of a row, with its indexes; those of a table's days together."""
    return float(await here.raw.fetchval(WEIGHT.format(f"paceline.{table}")))
