"""Promise 1: a job has at most one live claim."""

import asyncio
from collections import Counter
from datetime import timedelta

from paceline.claims import Finished, Incarnation
from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import Register


async def test_runners_that_claim_at_once_never_get_the_same_job(queue: Queue, register: Register) -> None:
    await queue.enqueue_many([NewJob(kind="mail", payload=number) for number in range(600)])
    runners = [await register(f"r{number}", lease=timedelta(hours=1)) for number in range(8)]
    seen: Counter[int] = Counter()

    async def work(runner: Incarnation) -> None:
        done: list[Finished] = []
        while True:
            step = await runner.step(7, done)
            assert not step.refused
            done = [Finished(job) for job in step.jobs]
            seen.update(job.id for job in step.jobs)
            if not step.jobs:
                return

    await asyncio.gather(*map(work, runners))
    assert len(seen) == 600
    assert set(seen.values()) == {1}
    assert await queue.database.value("SELECT count(*) FROM paceline.history WHERE outcome = 'd'") == 600


async def test_the_fence_grows_with_every_claim(queue: Queue, register: Register) -> None:
    await queue.enqueue("mail")
    runner = await register()
    fences = []
    for _ in range(3):
        (job,) = (await runner.step(1)).jobs
        fences.append(job.fence)
        assert not await runner.hand_back([job])
    assert fences == sorted(set(fences))
