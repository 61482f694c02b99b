"""Paceline's own queue."""

from paceline import NewJob, Queue
from paceline.migrate import migrate
from paceline_bench.systems import PAYLOAD, System, chunks

POOL = "bench"


async def prepare(url: str, jobs: int) -> None:
    """Migrate and enqueue."""
    await migrate(url)
    queue = await Queue.connect(url, POOL, connections=1)
    try:
        for size in chunks(jobs):
            await queue.enqueue_many([NewJob(kind="noop", payload=dict(PAYLOAD)) for _ in range(size)])
    finally:
        await queue.close()


SYSTEM = System(
    name="paceline",
    table="paceline.job",
    prepare=prepare,
    done="SELECT (SELECT count(*) FROM paceline.history WHERE outcome = 'd')"
    " + (SELECT count(*) FROM paceline.history_late WHERE outcome = 'd')",
)
