"""How the attempts of each revision's runners end, which is what a new one is judged by."""

from datetime import timedelta

import pytest

from paceline.claims import Failed, Finished, Incarnation
from paceline.database import Database
from paceline.errors import NotAllowedError, NotFoundError
from paceline.job import NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from postgres.operating.crew import Join
from support.pg import Login

EARLIER = "UPDATE paceline.flow SET at = at - interval '1 minute'"


async def work(queue: Queue, runner: Incarnation, good: int, bad: int) -> None:
    """So many jobs end well, and so many fail."""
    await queue.enqueue_many([NewJob(kind="mail", max_tries=9)] * (good + bad))
    jobs = (await runner.step(good + bad)).jobs
    assert len(jobs) == good + bad
    await runner.step(0, [Finished(job) for job in jobs[:good]])
    await runner.fail([Failed(job, "boom", timedelta(hours=1)) for job in jobs[good:]])


async def test_attempts_are_counted_by_the_revision_of_their_runner(
    queue: Queue, operating: Operating, group: int, join: Join
) -> None:
    old, new, newer = await join("a", revision="old"), await join("b"), await join("c")
    await work(queue, old, 5, 1)
    await work(queue, new, 2, 2)
    await work(queue, newer, 1, 0)
    assert await operating.outcomes(group, 60) == {"old": (6, 1), "new": (5, 2)}


async def test_a_laptop_and_another_group_are_not_counted(
    queue: Queue, operating: Operating, group: int, join: Join
) -> None:
    await work(queue, await join("laptop", external=True, revision=None), 1, 1)
    other = await operating.put_group(install="main", namespace="ci", name="others", pool="builds")
    await work(queue, await join("x", group="others"), 1, 0)
    assert await operating.outcomes(group, 60) == {}
    assert await operating.outcomes(other, 60) == {"new": (1, 0)}


async def test_what_ended_before_does_not_count(queue: Queue, operating: Operating, group: int, join: Join) -> None:
    runner = await join()
    await work(queue, runner, 3, 3)
    await queue.database.value(EARLIER)
    await work(queue, runner, 1, 0)
    assert await operating.outcomes(group, 30) == {"new": (1, 0)}
    assert await operating.outcomes(group, 90) == {"new": (7, 3)}


async def test_a_group_that_is_gone_or_another_pools_is_refused(
    operating: Operating, group: int, database: Database, login: Login
) -> None:
    with pytest.raises(NotFoundError):
        await operating.outcomes(group + 1000, 60)
    await database.value("SELECT paceline.pool_for('other')")
    with pytest.raises(NotAllowedError):
        await Operating(await login("operator", "other")).outcomes(group, 60)


async def test_the_job_that_has_run_for_longest_is_named(
    queue: Queue, operating: Operating, group: int, join: Join
) -> None:
    runner = await join()
    first = await queue.enqueue("mail")
    await runner.step(1)
    await queue.enqueue("mail")
    await runner.step(1)
    (seen,) = await operating.look_at_group(group)
    assert (seen.held, seen.oldest_job) == (2, first.id)
