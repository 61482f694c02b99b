"""The load of the scale-down cycles, without a cluster."""

import asyncio
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

from paceline import NewJob, Queue
from paceline_bench import cycles
from paceline_bench.hands import Hands


class Slow:
    """A queue that has the jobs long before it answers."""

    def __init__(self) -> None:
        self.jobs = 0
        self.asked = asyncio.Event()

    async def enqueue_many(self, jobs: Sequence[NewJob]) -> None:
        self.jobs += len(jobs)
        self.asked.set()
        await asyncio.sleep(0.1)


async def nothing(_: str) -> int:
    return 0


async def test_a_job_that_is_on_its_way_when_the_flow_ends_is_counted() -> None:
    queue = Slow()
    load = cycles.Load(cast("Queue", queue))
    crew = cast("Hands", SimpleNamespace(alive={}, database=SimpleNamespace(value=nothing)))
    async with cycles._beside(load, crew, time.monotonic(), {}):
        await queue.asked.wait()
    assert load.made == queue.jobs > 0
