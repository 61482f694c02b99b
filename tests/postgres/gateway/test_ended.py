"""Whoever waits for a job is told of its end, whatever way it takes; others cost nobody a message."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import TypeAlias

import pytest

from paceline.claims import Failed, Finished
from paceline.database import Database
from paceline.errors import NotAllowedError
from paceline.job import JobId, NewJob
from paceline.line import Line
from paceline.queue import Queue
from support.pg import Connect, Expire, Login, Register, Tick, behind

AWAIT = "SELECT id, state FROM paceline.await_outcome($1)"
End: TypeAlias = Callable[[JobId], Awaitable[object]]


@pytest.fixture
async def told(direct: str) -> "AsyncIterator[asyncio.Queue[str]]":
    """What is said on the channel."""
    heard: asyncio.Queue[str] = asyncio.Queue()
    line = await Line.open(direct)
    assert await line.hear("paceline_ended", heard.put_nowait)
    yield heard
    line.close()


@pytest.fixture
def ways(queue: Queue, register: Register, expire_lease: Expire, tick: Tick) -> dict[str, End]:
    """Every way out of the table of live jobs."""

    async def done(_: JobId) -> None:
        runner = await register()
        (job,) = (await runner.step(1)).jobs
        await runner.step(0, [Finished(job)])

    async def done_late(_: JobId) -> None:
        await queue.database.value("UPDATE paceline.tick SET history_until = '-infinity'")
        await done(_)

    async def dead(_: JobId) -> None:
        runner = await register()
        (job,) = (await runner.step(1)).jobs
        await runner.fail([Failed(job, "no")])

    async def lost(_: JobId) -> None:
        runner = await register()
        await runner.step(1)
        await expire_lease(runner)
        await tick()

    async def stopped(job: JobId) -> None:
        runner = await register()
        (held,) = (await runner.step(1)).jobs
        assert await queue.cancel(job) == "cancelling"
        await runner.fail([Failed(held, "stopped")])

    async def expired(job: JobId) -> None:
        await queue.database.value("UPDATE paceline.job SET expires_at = now() - interval '1 s' WHERE id = $1", job)
        await tick()

    return {
        "done": done, "done without a partition": done_late, "dead": dead, "lost": lost, "cancelled": queue.cancel,
        "cancelled while it ran": stopped, "expired": expired,
    }  # fmt: skip


WAYS = ("done", "done without a partition", "dead", "lost", "cancelled", "cancelled while it ran", "expired")


@pytest.mark.parametrize("way", WAYS)
async def test_every_end_of_a_job_that_somebody_waits_for_is_told(
    queue: Queue, ways: dict[str, End], told: "asyncio.Queue[str]", way: str
) -> None:
    job = (await queue.enqueue(NewJob(kind="mail", max_tries=1, max_losses=0))).id
    assert not await queue.database.rows(AWAIT, [job])
    await ways[way](job)
    assert await told.get() == str(job)
    (ended,) = await queue.database.rows(AWAIT, [job])
    assert (ended["id"], ended["state"]) == (job, "dead" if way == "lost" else way.split()[0])


async def test_of_those_that_end_together_each_is_told(
    queue: Queue, register: Register, tick: Tick, told: "asyncio.Queue[str]"
) -> None:
    jobs = [made.id for made in await queue.enqueue_many([NewJob(kind="mail", max_tries=1, max_losses=0)] * 9)]
    await queue.database.rows(AWAIT, jobs)
    runner, lost = await register("r1"), await register("r2")
    await runner.step(0, [Finished(job) for job in (await runner.step(3)).jobs])
    await lost.step(3)
    await queue.database.value("SELECT paceline.fence_incarnation($1, 'OOMKilled')", lost.id)
    await queue.database.value("UPDATE paceline.job SET expires_at = now() - interval '1 s'")
    await tick()
    assert {await told.get() for _ in jobs} == {str(job) for job in jobs}


async def test_nobody_takes_jobs_out_without_telling_it(database: Database) -> None:
    """There are few ways out; a new one must tell it too."""
    ways = "SELECT proname, prosrc FROM pg_proc WHERE prosrc LIKE '%DELETE FROM paceline.job %'"
    found = {row["proname"]: "tell_ended" in row["prosrc"] for row in await database.rows(ways)}
    assert found == {"ack": True, "finish": True, "bury": True}


async def test_the_end_of_a_job_that_nobody_waits_for_is_not_told(queue: Queue, told: "asyncio.Queue[str]") -> None:
    await queue.cancel((await queue.enqueue("mail")).id)
    awaited = (await queue.enqueue("mail")).id
    await queue.database.rows(AWAIT, [awaited])
    await queue.cancel(awaited)
    assert await told.get() == str(awaited)
    assert told.empty()


async def test_a_job_that_is_tried_again_is_still_waited_for(
    queue: Queue, register: Register, told: "asyncio.Queue[str]"
) -> None:
    job = (await queue.enqueue("mail")).id
    await queue.database.rows(AWAIT, [job])
    runner = await register()
    (held,) = (await runner.step(1)).jobs
    await runner.fail([Failed(held, "not yet", timedelta(hours=1))])
    assert await queue.retry(job) == "retried"
    (held,) = (await runner.step(1)).jobs
    await runner.step(0, [Finished(held)])
    assert await told.get() == str(job)


async def test_a_dead_letter_that_is_put_back_is_waited_for_by_nobody(
    queue: Queue, ways: dict[str, End], told: "asyncio.Queue[str]"
) -> None:
    job = (await queue.enqueue("mail")).id
    await queue.database.rows(AWAIT, [job])
    await ways["dead"](job)
    assert await told.get() == str(job)
    assert await queue.redrive([job]) == [job]
    assert await queue.database.value("SELECT awaited FROM paceline.job") is None


async def test_a_job_that_somebody_is_writing_about_is_to_be_asked_for_again(queue: Queue, connect: Connect) -> None:
    job = (await queue.enqueue("mail")).id
    writer = await connect()
    await writer.execute("BEGIN")
    await writer.fetch("SELECT FROM paceline.job WHERE id = $1 FOR UPDATE", job)
    assert [tuple(row) for row in await queue.database.rows(AWAIT, [job])] == [(job, None)]
    await writer.execute("COMMIT")
    assert not await queue.database.rows(AWAIT, [job])
    assert await queue.database.value("SELECT awaited FROM paceline.job") is True


async def test_who_ends_a_job_that_is_just_being_marked_tells_it(
    queue: Queue, connect: Connect, told: "asyncio.Queue[str]"
) -> None:
    job = (await queue.enqueue("mail")).id
    marker, watcher, ender = await connect(), await connect(), await connect()
    await marker.execute("BEGIN")
    await marker.fetch(AWAIT, [job])
    await behind(marker, watcher, ender, "SELECT paceline.cancel($1)", job)
    assert await told.get() == str(job)


async def test_jobs_of_another_pool_are_neither_seen_nor_marked(queue: Queue, login: Login) -> None:
    live, ended = [made.id for made in await queue.enqueue_many([NewJob(kind="mail")] * 2)]
    await queue.cancel(ended)
    await Queue(queue.database, "shop").enqueue("mail")
    assert not await (await login("producer", "shop")).rows(AWAIT, [live, ended])
    assert await queue.database.value("SELECT count(*) FROM paceline.job WHERE awaited") == 0
    assert len(await (await login("producer", "builds")).rows(AWAIT, [live, ended])) == 1
    assert await queue.database.value("SELECT count(*) FROM paceline.job WHERE awaited") == 1


async def test_a_login_that_may_only_look_marks_nothing(queue: Queue, login: Login) -> None:
    job = (await queue.enqueue("mail")).id
    reader: Database = await login("reader", "builds")
    with pytest.raises(NotAllowedError, match="may not do this"):
        await reader.rows(AWAIT, [job])
