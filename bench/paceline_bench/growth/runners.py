"""More and more runners that live in one group."""

from typing import Final

from paceline import NewJob
from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.growth.calls import BATCH, claiming, measured, ticking
from paceline_bench.growth.places import LEASE, Place, place
from paceline_bench.growth.sizes import Effort, Size
from paceline_bench.measure import Measurement
from paceline_bench.systems import NOOP, PAYLOAD
from paceline_bench.systems.paceline import INSTALL, POOL

JOBS: Final = 1_000
REGISTER: Final = """
SELECT count(*) FROM (
    SELECT paceline.register('runner-' || n, $1, '{*}', p_slots => 4, p_lease => $2, p_install => $3,
                             p_namespace => 'bench', p_group => $1)
      FROM generate_series($4::integer, $5::integer) n) made"""
LIVE: Final = "SELECT count(*) FROM paceline.incarnation WHERE state = 'a' AND lease_until > now()"


async def measure(run: Run, server: PostgresServer, size: Size) -> list[Measurement]:
    """Each size is the one before and more."""
    found: list[Measurement] = []
    async with place(server) as here:
        group = await here.put_group()
        there = 0
        with run.report.task("runners", len(size.runners)) as task:
            for runners in size.runners:
                await here.raw.fetchval(REGISTER, POOL, LEASE.total_seconds(), INSTALL, there + 1, runners)
                there = runners
                if await here.raw.fetchval(LIVE) < runners:
                    raise NotMeasuredError(f"fewer than {runners:,} runners live")
                await here.settle()
                found += await at(here, group, runners, size.effort)
                task.advance(f"{runners:,}")
    return found


async def at(here: Place, group: int, runners: int, effort: Effort) -> list[Measurement]:
    """All calls at one size; the queue is empty but while claims are timed."""
    end = f"{runners}_runners"
    one = await here.register("bench")
    await here.queue.enqueue_many([NewJob(kind=NOOP, payload=dict(PAYLOAD))] * JOBS)
    found = await claiming(f"claim_{end}", one, here.queue, effort, slow=f"claim99_{end}")
    await here.raw.execute("DELETE FROM paceline.job")
    return [
        *found,
        *await measured(f"poll_{end}", lambda: one.step(BATCH), effort),
        *await measured(f"heartbeat_{end}", one.heartbeat, effort),
        *await measured(f"register_{end}", lambda: here.register("another"), effort),
        *await measured(f"survey_{end}", here.survey, effort),
        *await ticking(f"tick_{end}", here.database, effort),
        *await measured(f"look_{end}", lambda: here.operating.look_at_group(group), effort),
    ]
