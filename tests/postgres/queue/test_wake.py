"""NOTIFY only wakes, and only where somebody waits; without it everything is found by the next look."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from paceline.claims import Failed
from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import Connect, Expire, Register, Tick

Heard = Callable[[], Awaitable[int]]


@pytest.fixture
async def heard(queue: Queue, connect: Connect) -> Heard:
    """How many notifications have come for the pool; a probe on the same connection tells that all have arrived."""
    pool = await queue.database.value("SELECT id FROM paceline.pool_for('builds') id")
    listener, probe = await connect(), await connect()
    events: list[str] = []
    done = asyncio.Event()
    await listener.add_listener(f"paceline_{pool}", lambda *_: events.append("work"))
    await listener.add_listener("probe", lambda *_: done.set())

    async def count() -> int:
        done.clear()
        await probe.execute("NOTIFY probe")
        await done.wait()
        return len(events)

    return count


async def _wait_for_work(queue: Queue, seconds: float = 60) -> None:
    await queue.database.value("SELECT paceline.await_work(paceline.pool_for('builds'), $1)", seconds)


async def test_nobody_waits_and_nothing_is_sent(queue: Queue, heard: Heard) -> None:
    await queue.enqueue("mail")
    assert await heard() == 0


async def test_an_enqueue_wakes_who_waits_once_for_each_commit(queue: Queue, heard: Heard) -> None:
    await _wait_for_work(queue)
    await queue.enqueue_many([NewJob(kind="mail")] * 100)
    assert await heard() == 1


async def test_a_job_of_the_future_wakes_nobody_until_it_is_due(queue: Queue, heard: Heard, tick: Tick) -> None:
    await _wait_for_work(queue)
    made = await queue.enqueue(NewJob(kind="mail", delay=timedelta(hours=1)))
    assert await heard() == 0
    await queue.database.value("UPDATE paceline.job SET run_at = clock_timestamp() WHERE id = $1", made.id)
    await tick()
    assert await heard() == 1


async def test_who_has_stopped_asking_is_not_woken(queue: Queue, heard: Heard) -> None:
    await _wait_for_work(queue, seconds=0)
    await queue.enqueue("mail")
    assert await heard() == 0


async def test_a_lost_job_wakes_the_others(
    queue: Queue, heard: Heard, register: Register, expire_lease: Expire, tick: Tick
) -> None:
    await queue.enqueue("mail")
    runner = await register()
    await runner.step(1)
    await _wait_for_work(queue)
    await expire_lease(runner)
    await tick()
    assert await heard() == 1


async def test_a_delayed_a_keyed_and_a_retried_job_become_claimable_with_no_runner_alive(
    queue: Queue, register: Register, tick: Tick
) -> None:
    """Only the operator's tick is made: a group at zero must wake for them."""
    delayed = await queue.enqueue(NewJob(kind="mail", delay=timedelta(hours=1)))
    keyed = await queue.enqueue(NewJob(kind="mail", key="k"))
    retried = await queue.enqueue("mail")
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    assert job.id == retried.id

    await runner.fail([Failed(job, "again", timedelta(0))])
    await runner.deregister()
    await queue.database.value("UPDATE paceline.job SET run_at = clock_timestamp() WHERE id = $1", delayed.id)
    await tick()
    ready = await queue.database.rows("SELECT id FROM paceline.job WHERE state = 'r' ORDER BY id")
    assert [row["id"] for row in ready] == sorted([delayed.id, keyed.id, retried.id])


async def test_a_step_that_finds_too_little_asks_to_be_woken_and_says_whether_it_was_heard_before(
    queue: Queue, register: Register, heard: Heard
) -> None:
    runner = await register()
    first = await runner.step(2, listen=timedelta(minutes=1))
    assert (first.verdict, first.jobs, first.listening) == ("ok", (), False)
    assert (await runner.step(2, listen=timedelta(minutes=1))).listening
    await queue.enqueue("mail")
    assert await heard() == 1
    step = await runner.step(1, listen=timedelta(minutes=1))
    assert (len(step.jobs), step.listening) == (1, False)


async def test_a_step_that_may_not_claim_asks_to_be_woken_too(queue: Queue, register: Register, heard: Heard) -> None:
    """The end of a pause, another leader and a cancel come this way."""
    runner = await register()
    await queue.pause()
    assert (await runner.step(1, listen=timedelta(minutes=1))).verdict == "paused"
    await queue.resume()
    assert await heard() == 1
    await queue.database.value("UPDATE paceline.waiter SET until = '-infinity'")
    await runner.step(0, listen=timedelta(minutes=1))
    await queue.enqueue("mail")
    assert await heard() == 2


async def test_a_step_never_waits_for_another_that_asks_to_be_woken(
    queue: Queue, register: Register, connect: Connect
) -> None:
    runner = await register()
    await runner.step(1, listen=timedelta(seconds=1))
    holder = await connect()
    async with holder.transaction():
        await holder.execute("UPDATE paceline.waiter SET until = clock_timestamp()")
        assert (await asyncio.wait_for(runner.step(1, listen=timedelta(hours=1)), 50)).verdict == "ok"


async def test_a_runner_is_told_how_many_serve_its_pool(
    queue: Queue, register: Register, expire_lease: Expire, tick: Tick
) -> None:
    one, two = await register("one"), await register("two")
    await register("elsewhere", pool="other")
    await tick()
    assert (await one.step(0)).runners == 2
    await expire_lease(two)
    await tick()
    assert (await one.step(0)).runners == 1


async def test_taints_that_change_wake_who_may_claim_more_now(queue: Queue, heard: Heard, register: Register) -> None:
    runner = await register()
    await runner.taint("gpu:NoClaim")
    await queue.enqueue("mail")
    assert (await runner.step(1)).jobs == ()
    await _wait_for_work(queue)
    await runner.taint("")
    assert await heard() == 1
    assert len((await runner.step(1)).jobs) == 1


async def test_a_pool_whose_last_runner_has_gone_has_none(queue: Queue, register: Register, tick: Tick) -> None:
    one = await register("r1")
    await tick()
    counted = "SELECT runners FROM paceline.pool WHERE name = 'builds'"
    assert await queue.database.value(counted) == 1
    await one.deregister()
    await tick()
    assert await queue.database.value(counted) == 0
