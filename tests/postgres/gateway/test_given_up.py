"""A call whose time is over is cancelled by the housekeeping: whoever kept the time for its caller may have died."""

import asyncio
from datetime import timedelta

import pytest

from paceline.claims import Failed, Finished
from paceline.database import Database
from paceline.job import Enqueued, NewJob
from paceline.once import enqueue_once
from paceline.queue import Queue
from paceline.reading import Reader
from support.pg import Connect, Register, Tick

CALL = NewJob(kind="add", max_tries=1, max_losses=0)
MINUTE = timedelta(minutes=1)


async def call(database: Database, job: NewJob = CALL, *, key: str | None = None, wait: timedelta = MINUTE) -> Enqueued:
    (made,) = await enqueue_once(database, "builds", [job], key=key, waits=[wait])
    return made


async def time_passes(database: Database) -> None:
    """All deadlines are over."""
    await database.value("UPDATE paceline.call SET until = clock_timestamp()")


async def state(database: Database, made: Enqueued) -> str:
    seen = await Reader(database).job_detail(made.id)
    assert seen is not None
    return seen.state


async def calls(database: Database) -> int:
    return int(await database.value("SELECT count(*) FROM paceline.call"))


async def test_its_end_is_told_from_the_beginning(database: Database) -> None:
    made = await call(database)
    assert await database.value("SELECT awaited FROM paceline.job WHERE id = $1", made.id)
    left = await database.value("SELECT until - clock_timestamp() FROM paceline.call")
    assert timedelta(seconds=30) < left <= MINUTE


async def test_one_that_nobody_has_begun_is_taken_out_at_its_deadline_and_not_before(
    database: Database, tick: Tick
) -> None:
    made = await call(database)
    await tick()
    assert await state(database, made) == "ready"
    await time_passes(database)
    await tick()
    assert await state(database, made) == "cancelled"
    assert await calls(database) == 0


async def test_one_that_runs_is_cancelled_and_its_runner_told(
    database: Database, tick: Tick, register: Register
) -> None:
    made = await call(database)
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await time_passes(database)
    await tick()
    assert (await runner.heartbeat()).cancelled == {made.id}
    await runner.fail([Failed(job, "stopped")])
    assert await state(database, made) == "cancelled"
    assert await calls(database) == 0


async def test_one_that_has_ended_is_forgotten(database: Database, tick: Tick, register: Register) -> None:
    made = await call(database)
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await runner.step(0, [Finished(job)])
    await time_passes(database)
    await tick()
    assert await state(database, made) == "done"
    assert await calls(database) == 0


async def test_who_comes_again_with_the_key_makes_it_last_longer_and_never_shorter(database: Database) -> None:
    first = await call(database, key="k")
    for wait, longest in ((2 * MINUTE, 2 * MINUTE), (MINUTE, 2 * MINUTE)):
        again = await call(database, key="k", wait=wait)
        assert again == Enqueued(first.id, created=False)
        left = await database.value("SELECT until - clock_timestamp() FROM paceline.call")
        assert longest - timedelta(seconds=30) < left <= longest


async def test_a_job_that_was_there_before_is_not_given_up_for_a_caller(
    database: Database, queue: Queue, tick: Tick
) -> None:
    before = await queue.enqueue(NewJob(kind="add", dedupe="same"))
    made = await call(database, NewJob(kind="add", dedupe="same"))
    assert (made.id, made.created) == (before.id, False)
    assert await calls(database) == 0
    await tick()
    assert await state(database, made) == "ready"


async def test_a_dead_letter_that_was_put_back_is_nobodys_call_any_more(
    database: Database, queue: Queue, tick: Tick, register: Register
) -> None:
    made = await call(database)
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "no")])
    await queue.redrive([made.id])
    await time_passes(database)
    await tick()
    assert await state(database, made) == "ready"
    assert await calls(database) == 0


@pytest.mark.parametrize("held", ["paceline.job WHERE id = $1", "paceline.incarnation WHERE $1 > 0"])
async def test_the_housekeeping_waits_for_nobody_who_writes_about_it(
    database: Database, tick: Tick, register: Register, connect: Connect, held: str
) -> None:
    made = await call(database)
    runner = await register()
    await runner.step(1)
    await time_passes(database)
    writer = await connect()
    await writer.execute("BEGIN")
    assert await writer.fetch(f"SELECT FROM {held} FOR UPDATE", made.id)
    async with asyncio.timeout(30):
        await tick()
    assert not await database.value("SELECT cancel FROM paceline.job")
    await writer.execute("COMMIT")
    await tick()
    assert await database.value("SELECT cancel FROM paceline.job")
