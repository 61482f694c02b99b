"""What a producer leaves out is the same in the database as in the SDK: it is not even sent."""

import pytest

from paceline.job import NewJob
from paceline.queue import Queue
from paceline.reading import Reader


@pytest.mark.parametrize("number", range(1, 10))
async def test_numbers_arrive_whether_they_are_the_default_or_not(queue: Queue, number: int) -> None:
    given = NewJob(kind="mail", priority=number, max_tries=number, max_losses=number)
    for job in (given, NewJob(kind="mail")):
        seen = await Reader(queue.database).job_detail((await queue.enqueue(job)).id)
        assert seen is not None
        assert (seen.priority, seen.max_tries, seen.max_losses) == (job.priority, job.max_tries, job.max_losses)


async def test_in_a_batch_each_has_its_own(queue: Queue) -> None:
    jobs = [NewJob(kind="mail"), NewJob(kind="mail", priority=9), NewJob(kind="mail", max_tries=1, max_losses=0)]
    for job, made in zip(jobs, await queue.enqueue_many(jobs), strict=True):
        seen = await Reader(queue.database).job_detail(made.id)
        assert seen is not None
        assert (seen.priority, seen.max_tries, seen.max_losses) == (job.priority, job.max_tries, job.max_losses)
