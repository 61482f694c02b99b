"""Promise 2: a write with an old fence changes nothing, and the writer is told."""

from datetime import timedelta

from paceline.claims import Failed, Finished
from paceline.queue import Queue
from support.pg import Expire, Register, Tick


async def test_a_zombie_ack_is_refused_and_told(
    queue: Queue, register: Register, expire_lease: Expire, tick: Tick
) -> None:
    made = await queue.enqueue("mail")
    zombie, other = await register("zombie"), await register("other")
    (lost,) = (await zombie.step(1)).jobs
    await expire_lease(zombie)
    await tick()
    (taken,) = (await other.step(1)).jobs
    assert taken.id == lost.id == made.id

    step = await zombie.step(1, [Finished(lost)])
    assert step.refused == {lost.id}
    assert step.verdict == "fenced"
    assert await zombie.fail([Failed(lost, "late")]) == {lost.id}
    assert await zombie.hand_back([lost]) == {lost.id}

    assert not (await other.step(0, [Finished(taken)])).refused


async def test_an_old_attempt_of_the_same_process_is_refused_too(queue: Queue, register: Register) -> None:
    """The id and the incarnation are right, only the fence is not; another job's fence in the batch must not help."""
    await queue.enqueue_many([])
    await queue.enqueue("mail")
    runner = await register()
    (old,) = (await runner.step(1)).jobs
    await runner.hand_back([old])
    await queue.enqueue("mail")
    new = (await runner.step(2)).jobs
    assert old.id in {job.id for job in new}
    other = next(job for job in new if job.id != old.id)

    step = await runner.step(0, [Finished(old), Finished(other)])

    assert step.refused == {old.id}
    assert await queue.database.value("SELECT array_agg(id) FROM paceline.job WHERE state = 'x'") == [old.id]


async def test_one_runner_cannot_finish_anothers_job(queue: Queue, register: Register) -> None:
    await queue.enqueue("mail")
    one, two = await register("one"), await register("two")
    (job,) = (await one.step(1)).jobs
    assert (await two.step(0, [Finished(job)])).refused == {job.id}
    assert await two.fail([Failed(job, "no", timedelta(0))]) == {job.id}
    assert not (await one.step(0, [Finished(job)])).refused


async def test_a_lease_that_has_ended_is_not_revived_by_a_heartbeat(
    queue: Queue, register: Register, expire_lease: Expire
) -> None:
    await queue.enqueue("mail")
    runner = await register()
    assert (await runner.heartbeat()).verdict == "ok"
    await expire_lease(runner)
    assert (await runner.heartbeat()).verdict == "fenced"
    assert (await runner.step(1)).verdict == "fenced"
    assert not (await runner.step(1)).jobs


async def test_the_newest_registration_of_a_name_wins_and_a_draining_one_finishes(
    queue: Queue, register: Register
) -> None:
    await queue.enqueue("mail")
    first = await register("same")
    (job,) = (await first.step(1)).jobs
    assert await first.drain() == 1
    second = await register("same")
    assert not (await first.step(0, [Finished(job)])).refused

    await queue.enqueue("mail")
    (lost,) = (await second.step(1)).jobs
    third = await register("same")
    assert (await second.heartbeat()).verdict == "fenced"
    assert (await second.step(0, [Finished(lost)])).refused == {lost.id}
    assert {job.id for job in (await third.step(1)).jobs} == {lost.id}
