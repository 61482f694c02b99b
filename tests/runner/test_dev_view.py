"""What a developer is shown: every job, also those that are over before anybody can look."""

from datetime import timedelta

import pytest

from paceline.claims import Failed, Finished, Incarnation, Registration
from paceline.database import Database
from paceline.job import JobId, NewJob
from paceline.queue import Queue
from paceline_cli.dev_view import KEPT, Recent
from runner.process import eventually, seen


@pytest.fixture
def default(queue: Queue) -> Queue:
    """The pool that is meant if nobody names one."""
    return Queue(queue.database, "default")


@pytest.fixture
async def recent(default: Queue) -> Recent:
    made = Recent(default.database, "default")
    assert await made.look() == []
    return made


async def _runner(database: Database, *kinds: str) -> Incarnation:
    return await Incarnation.register(database, Registration(name="r", pool="default", kinds=kinds, slots=100))


async def test_a_job_that_came_and_went_between_two_looks_is_shown(recent: Recent, default: Queue) -> None:
    made = await default.enqueue("hello", "ann")
    runner = await _runner(default.database, "hello")
    (job,) = (await runner.step(1)).jobs
    await runner.step(0, [Finished(job, '"hi"')])
    (row,) = await recent.look()
    assert (row.id, row.state, row.says, row.runner) == (made.id, "done", '"hi"', "r")
    assert recent.done == 1
    assert await recent.look() == []


async def test_thousands_that_came_and_went_are_caught_up_with(recent: Recent, default: Queue) -> None:
    made = await default.enqueue_many([NewJob(kind="hello") for _ in range(3_000)])
    runner = await _runner(default.database, "hello")
    while jobs := (await runner.step(100)).jobs:
        await runner.step(0, [Finished(job) for job in jobs])

    async def has_the_last() -> bool:
        await recent.look()
        return made[-1].id in {row.id for row in (await recent.picture()).rows}

    await eventually(has_the_last, "the newest job is shown")
    assert len((await recent.picture()).rows) <= KEPT


async def test_the_old_jobs_of_a_database_are_shown_and_are_no_news(default: Queue) -> None:
    made = await default.enqueue("hello", "ann")
    recent = Recent(default.database, "default")
    assert await recent.look() == []
    assert [row.id for row in (await recent.picture()).rows] == [made.id]
    assert await _next_id(default) == made.id + 2, "looking takes one number, and leaves no job"


async def _next_id(queue: Queue) -> JobId:
    return (await queue.enqueue("hello", "bob")).id


async def test_running_jobs_are_on_top_with_their_progress(recent: Recent, default: Queue) -> None:
    first = await default.enqueue("hello", "ann")
    runner = await _runner(default.database, "hello")
    (job,) = (await runner.step(1)).jobs
    later = await default.enqueue("hello", "bob")
    assert await runner.progress(job, {"half": True})
    await recent.look()
    rows = (await recent.picture()).rows
    assert [(row.id, row.state, row.says) for row in rows] == [
        (first.id, "running", '{"half": true}'),
        (later.id, "ready", ""),
    ]


async def test_a_job_that_waits_for_its_next_try_tells_why(recent: Recent, default: Queue) -> None:
    await default.enqueue("hello", "ann")
    runner = await _runner(default.database, "hello")
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "ValueError: no\nTraceback ...", timedelta(hours=1))])
    (row,) = await recent.look()
    assert (row.state, row.tries, row.says) == ("scheduled", "1/5", "ValueError: no")


async def test_jobs_of_other_pools_are_left_out(recent: Recent, default: Queue) -> None:
    await Queue(default.database, "other").enqueue("hello", "ann")
    mine = await default.enqueue("hello", "bob")
    assert [row.id for row in await recent.look()] == [mine.id]
    assert (await seen(default, mine.id)).state == "ready"
