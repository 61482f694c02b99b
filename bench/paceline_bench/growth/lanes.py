"""More and more lanes in one pool, first with jobs in all of them, then with all jobs in one."""

from collections.abc import Sequence
from typing import Final

from paceline import NewJob
from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.growth.calls import claiming, enqueuing, measured, ticking
from paceline_bench.growth.places import Place, place
from paceline_bench.growth.sizes import Effort, Size
from paceline_bench.measure import Measurement
from paceline_bench.systems import PAYLOAD, chunks

JOBS: Final = 2_000
"""In all: at least one for each lane."""
LANES: Final = "SELECT count(*) FROM paceline.lane"


async def measure(run: Run, server: PostgresServer, size: Size) -> list[Measurement]:
    """Each size is the one before and more."""
    found: list[Measurement] = []
    async with place(server) as here:
        with run.report.task("lanes", len(size.lanes)) as task:
            for lanes in size.lanes:
                kinds = [f"kind-{number}" for number in range(lanes)]
                await here.raw.execute("DELETE FROM paceline.job")
                await fill(here, kinds)
                if (there := await here.raw.fetchval(LANES)) != lanes:
                    raise NotMeasuredError(f"there are {there:,} lanes, not {lanes:,}")
                found += await at(here, kinds, size.effort)
                task.advance(f"{lanes:,}")
    return found


async def fill(here: Place, kinds: Sequence[str]) -> None:
    """The same number of jobs, spread over the kinds."""
    jobs = [NewJob(kind=kinds[number % len(kinds)], payload=dict(PAYLOAD)) for number in range(JOBS)]
    begun = 0
    for count in chunks(len(jobs)):
        await here.queue.enqueue_many(jobs[begun : begun + count])
        begun += count
    await here.settle()


async def at(here: Place, kinds: Sequence[str], effort: Effort) -> list[Measurement]:
    """All calls at one size."""
    end = f"{len(kinds)}_lanes"
    one = await here.register("bench")
    found = [
        *await claiming(f"claim_{end}", one, here.queue, effort, kinds, slow=f"claim99_{end}"),
        *await enqueuing(f"enqueue_{end}", here.queue, effort, kinds[0]),
        *await measured(f"heartbeat_{end}", one.heartbeat, effort),
        *await measured(f"register_{end}", lambda: here.register("another"), effort),
        *await measured(f"survey_{end}", here.survey, effort),
        *await ticking(f"tick_{end}", here.database, effort),
    ]
    await here.raw.execute("DELETE FROM paceline.job")
    await fill(here, kinds[:1])
    return [*found, *await claiming(f"sparse_{end}", one, here.queue, effort, kinds[:1])]
