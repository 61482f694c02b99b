"""More and more groups in one database, each with a pool of its own, a runner, some jobs and an hour of samples."""

from typing import Final

from paceline import NewJob, Queue
from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.growth.calls import SAMPLED, claiming, enqueuing, measured, ticking
from paceline_bench.growth.places import Place, place
from paceline_bench.growth.sizes import Effort, Size
from paceline_bench.measure import Measurement
from paceline_bench.systems import NOOP, PAYLOAD
from paceline_bench.systems.paceline import POOL

JOBS: Final = 200
"""In each pool: several claims of 50."""
SAMPLES: Final = """
INSERT INTO paceline.sample (grp, at, done, busy_ms, backlog)
SELECT $1, now() - make_interval(secs => n), 72000 - n, 720000 - n, 200 FROM generate_series(2, 3600) n
ON CONFLICT DO NOTHING"""
"""What looking once a second leaves behind."""


async def measure(run: Run, server: PostgresServer, size: Size) -> list[Measurement]:
    """Each size is the one before and more."""
    found: list[Measurement] = []
    async with place(server) as here:
        there = 0
        with run.report.task("groups", len(size.groups)) as task:
            for groups in size.groups:
                for number in range(there, groups):
                    await add(here, POOL if number == 0 else f"{POOL}-{number}")
                there = groups
                await here.settle()
                found += await at(here, groups, size.effort)
                task.advance(f"{groups:,}")
    return found


async def add(here: Place, name: str) -> None:
    """One more."""
    group = await here.put_group(name)
    await here.raw.execute(SAMPLES, group)
    await here.register(f"{name}-runner", name)
    await Queue(here.database, name).enqueue_many([NewJob(kind=NOOP, payload=dict(PAYLOAD))] * JOBS)


async def at(here: Place, groups: int, effort: Effort) -> list[Measurement]:
    """All calls at one size."""
    end = f"{groups}_groups"
    return [
        *await claiming(f"claim_{end}", await here.register("bench"), here.queue, effort),
        *await enqueuing(f"enqueue_{end}", here.queue, effort),
        *await measured(f"survey_{end}", here.survey, effort),
        *await ticking(f"tick_{end}", here.database, effort),
        *await ticking(f"sample_{end}", here.database, effort, SAMPLED),
    ]
