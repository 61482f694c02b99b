"""Promise 5: a concurrency key is never exceeded over all nodes, and no permit leaks or is held for nothing."""

import asyncio
from datetime import timedelta

from paceline.claims import Failed, Finished, Incarnation
from paceline.job import Claimed, NewJob
from paceline.queue import Queue
from support.pg import Connect, Expire, Register, Tick, behind

HELD = "SELECT count(*) FROM paceline.job WHERE key IS NOT NULL AND state IN ('r', 'x')"


async def test_many_nodes_never_hold_more_than_the_limit(queue: Queue, register: Register, tick: Tick) -> None:
    await queue.enqueue_many([NewJob(kind="mail", key="one", key_limit=3) for _ in range(60)])
    runners = [await register(f"r{number}") for number in range(6)]
    await tick()
    running, most, done = 0, 0, 0

    async def work(runner: Incarnation) -> None:
        nonlocal running, most, done
        while done < 60:
            jobs = (await runner.step(5)).jobs
            running += len(jobs)
            most = max(most, running)
            for job in jobs:
                await asyncio.sleep(0)
                running -= 1  # before the ack: the permit is ours until it is written
                assert not (await runner.step(0, [Finished(job)])).refused
                done += 1

    await asyncio.gather(*map(work, runners))
    assert 1 <= most <= 3
    assert done == 60


async def test_the_last_enqueue_that_names_a_limit_sets_it(queue: Queue, register: Register, tick: Tick) -> None:
    runner = await register()
    await queue.enqueue_many([NewJob(kind="mail", key="k") for _ in range(5)])
    await tick()
    assert len((await runner.step(9)).jobs) == 1
    await queue.enqueue(NewJob(kind="mail", key="k", key_limit=4))
    await queue.enqueue(NewJob(kind="mail", key="k"))
    await tick()
    assert len((await runner.step(9)).jobs) == 3


async def test_every_way_out_frees_the_permit(
    queue: Queue, register: Register, tick: Tick, expire_lease: Expire
) -> None:
    made = await queue.enqueue_many([NewJob(kind="mail", key="k", max_tries=1, max_losses=0) for _ in range(6)])
    runner = await register("a")

    async def next_job() -> Claimed:
        await tick()
        (job,) = (await runner.step(9)).jobs
        return job

    done = await next_job()
    await runner.step(0, [Finished(done)])
    dead = await next_job()
    await runner.fail([Failed(dead, "dead")])
    cancelled = await next_job()
    await queue.cancel(cancelled.id)
    await runner.fail([Failed(cancelled, "cancelled")])
    await tick()
    assert await queue.database.value(HELD) == 1
    assert await queue.cancel(made[3].id) == "cancelled"
    lost = await next_job()
    await expire_lease(runner)
    await tick()
    runner = await register("b")
    last = await next_job()
    assert [job.id for job in (done, dead, cancelled, lost, last)] == [made[n].id for n in (0, 1, 2, 4, 5)]


async def test_a_retried_job_gives_its_permit_up_while_it_waits(queue: Queue, register: Register, tick: Tick) -> None:
    await queue.enqueue_many([NewJob(kind="mail", key="k") for _ in range(2)])
    runner = await register()
    await tick()
    (first,) = (await runner.step(9)).jobs
    await runner.fail([Failed(first, "later", timedelta(hours=1))])
    (second,) = (await runner.step(9)).jobs
    assert second.id != first.id


async def test_an_ack_lets_the_next_of_the_key_in_at_once(queue: Queue, register: Register, tick: Tick) -> None:
    await queue.enqueue_many([NewJob(kind="mail", key="k") for _ in range(2)])
    runner = await register()
    await tick()
    (first,) = (await runner.step(9)).jobs
    (second,) = (await runner.step(9, [Finished(first)])).jobs
    assert second.id != first.id


async def test_a_permit_is_not_held_by_a_job_that_no_live_runner_can_claim(
    queue: Queue, register: Register, tick: Tick
) -> None:
    await queue.enqueue(NewJob(kind="mail", key="k", tags=("gpu",), priority=9))
    claimable = await queue.enqueue(NewJob(kind="mail", key="k"))
    await tick()
    assert await queue.database.value("SELECT state FROM paceline.job WHERE id = $1", claimable.id) == b"b"
    runner = await register()
    await tick()
    assert [job.id for job in (await runner.step(9)).jobs] == [claimable.id]


async def test_keys_of_different_pools_have_nothing_to_do_with_each_other(
    queue: Queue, register: Register, tick: Tick
) -> None:
    other = Queue(queue.database, "other")
    await queue.enqueue(NewJob(kind="mail", key="k"))
    await other.enqueue(NewJob(kind="mail", key="k"))
    await tick()
    one, two = await register("one"), await register("two", pool="other")
    assert len((await one.step(9)).jobs) == 1
    assert len((await two.step(9)).jobs) == 1


async def test_two_acks_of_one_key_at_once_let_two_in(
    queue: Queue, register: Register, connect: Connect, tick: Tick
) -> None:
    """The second waits for the key and then counts anew; by its old snapshot it would let nobody in."""
    await queue.enqueue_many([NewJob(kind="mail", key="k", key_limit=2) for _ in range(4)])
    one, two = await register("one"), await register("two")
    await tick()
    (first,), (second,) = (await one.step(1)).jobs, (await two.step(1)).jobs
    ack = "SELECT verdict FROM paceline.step($1, 0, $2, $3)"
    holding, waiting, watcher = await connect(), await connect(), await connect()
    await holding.execute("BEGIN")
    await holding.fetch(ack, one.id, [first.id], [first.fence])
    await behind(holding, watcher, waiting, ack, two.id, [second.id], [second.fence])
    assert await queue.database.value(HELD) == 2


async def test_a_lane_is_served_also_by_a_runner_whose_slots_are_all_busy(
    queue: Queue, register: Register, tick: Tick
) -> None:
    """Such a runner does not look for new lanes itself; a permit must not go to a lane that nobody serves meanwhile."""
    await queue.enqueue("mail")
    runner = await register(kinds=("mail", "build"))
    await runner.step(1)
    nobodys = await queue.enqueue(NewJob(kind="unknown", key="k", priority=9))
    served = await queue.enqueue(NewJob(kind="build", key="k"))
    await tick()
    states = dict(map(tuple, await queue.database.rows("SELECT id, state FROM paceline.job WHERE key IS NOT NULL")))
    assert states == {nobodys.id: b"b", served.id: b"r"}
