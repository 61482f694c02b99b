"""Promise 4: what a dead runner held is claimable within one tick, at the price of a loss, not of a try."""

from paceline.claims import Finished
from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import Expire, Register, Tick


async def test_a_lost_job_is_claimable_after_one_tick_and_no_try_is_charged(
    queue: Queue, register: Register, expire_lease: Expire, tick: Tick
) -> None:
    await queue.enqueue("mail")
    runner, other = await register("a"), await register("b")
    (job,) = (await runner.step(1)).jobs
    assert not (await other.step(1)).jobs
    await expire_lease(runner)
    await tick()
    (again,) = (await other.step(1)).jobs
    assert (again.id, again.tries, again.losses) == (job.id, 0, 1)
    attempt = (await queue.database.rows("SELECT * FROM paceline.attempt"))[0]
    assert (attempt["outcome"], attempt["cause"], attempt["runner"]) == (b"l", "LeaseExpired", "a")


async def test_a_job_that_outlives_too_many_runners_is_poison(
    queue: Queue, register: Register, expire_lease: Expire, tick: Tick
) -> None:
    made = await queue.enqueue(NewJob(kind="mail", max_losses=2))
    for number in range(3):
        runner = await register(f"r{number}")
        assert [job.id for job in (await runner.step(1)).jobs] == [made.id]
        await expire_lease(runner)
        await tick()
    dead = (await queue.database.rows("SELECT * FROM paceline.dead"))[0]
    assert (dead["id"], dead["cause"], dead["losses"], dead["tries"]) == (made.id, "Poison", 3, 0)
    assert "LeaseExpired" in dead["error"]


async def test_a_fenced_runner_loses_its_jobs_at_once_with_the_cause(queue: Queue, register: Register) -> None:
    await queue.enqueue("mail")
    runner, other = await register("a"), await register("b")
    await runner.step(1)
    assert await queue.database.value("SELECT paceline.fence_incarnation($1, 'OOMKilled')", runner.id) == 1
    (again,) = (await other.step(1)).jobs
    assert again.losses == 1
    assert await queue.database.value("SELECT cause FROM paceline.attempt") == "OOMKilled"


async def test_handing_back_and_leaving_charge_nothing(queue: Queue, register: Register) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(2)])
    runner, other = await register("a"), await register("b")
    one, _ = (await runner.step(2)).jobs
    await runner.hand_back([one])
    assert await runner.deregister() == 1
    assert {(job.tries, job.losses) for job in (await other.step(2)).jobs} == {(0, 0)}


async def test_any_runners_step_does_the_housekeeping_for_all(
    queue: Queue, register: Register, expire_lease: Expire
) -> None:
    await queue.enqueue("mail")
    dead, other = await register("dead"), await register("other")
    (job,) = (await dead.step(1)).jobs
    await expire_lease(dead)
    await queue.database.value("UPDATE paceline.tick SET next_at = '-infinity'")
    (again,) = (await other.step(1)).jobs
    assert again.id == job.id
    assert not (await other.step(0, [Finished(again)])).refused
