"""Promise 9: strict priority over all lanes, first in first out within one, and no lane starves."""

from datetime import timedelta

from paceline.claims import Failed, Finished
from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import Register, Tick


async def test_a_high_priority_in_a_free_lane_comes_before_a_low_one_in_a_rated_lane(
    queue: Queue, register: Register
) -> None:
    await queue.database.value("SELECT paceline.set_kind('builds', 'rated', 100.0, 100.0)")
    low = await queue.enqueue(NewJob(kind="rated", priority=1))
    high = await queue.enqueue(NewJob(kind="free", priority=9))
    runner = await register()
    assert [job.id for job in (await runner.step(1)).jobs] == [high.id]
    assert [job.id for job in (await runner.step(1)).jobs] == [low.id]


async def test_and_the_other_way_round(queue: Queue, register: Register) -> None:
    await queue.database.value("SELECT paceline.set_kind('builds', 'rated', 100.0, 100.0)")
    low = await queue.enqueue(NewJob(kind="free", priority=1))
    high = await queue.enqueue(NewJob(kind="rated", priority=9))
    runner = await register()
    assert [job.id for job in (await runner.step(1)).jobs] == [high.id]
    assert [job.id for job in (await runner.step(1)).jobs] == [low.id]


async def test_the_highest_priority_of_all_lanes_is_taken_first(queue: Queue, register: Register) -> None:
    made = [
        await queue.enqueue(NewJob(kind=kind, priority=priority)) for kind, priority in (("a", 3), ("b", 8), ("a", 6))
    ]
    runner = await register()
    order = [(await runner.step(1)).jobs[0].id for _ in made]
    assert order == [made[1].id, made[2].id, made[0].id]


async def test_a_batch_comes_back_in_order_of_priority_and_becoming_ready(
    queue: Queue, register: Register, tick: Tick
) -> None:
    runner = await register()
    late = await queue.enqueue(NewJob(kind="mail", priority=5))
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "again", timedelta(0))])
    made = [await queue.enqueue(NewJob(kind="mail", priority=priority)) for priority in (0, 5, 9, 5)]
    await tick()
    order = [job.id for job in (await runner.step(9)).jobs]
    assert order == [made[2].id, made[1].id, made[3].id, late.id, made[0].id]


async def test_five_hundred_lanes_all_get_their_turn(queue: Queue, register: Register) -> None:
    await queue.enqueue_many([NewJob(kind=f"kind-{number}") for number in range(500) for _ in range(2)])
    runner = await register()
    seen: set[str] = set()
    for _ in range(20):
        jobs = (await runner.step(50)).jobs
        seen.update(job.kind for job in jobs)
        await runner.step(0, [Finished(job) for job in jobs])
    assert len(seen) == 500


async def test_a_lane_is_not_starved_by_one_that_always_has_work(queue: Queue, register: Register) -> None:
    await queue.enqueue_many([NewJob(kind="flood") for _ in range(200)])
    waiting = await queue.enqueue("lonely")
    await queue.enqueue_many([NewJob(kind="flood-too") for _ in range(200)])
    runner = await register()
    for _ in range(100):  # the chance to be passed over a hundred times by two others is (2/3)^100
        (job,) = (await runner.step(1)).jobs
        if job.id == waiting.id:
            return
    raise AssertionError("the lonely job was never claimed")


async def test_a_runner_gets_only_kinds_and_tags_that_it_can_serve(queue: Queue, register: Register) -> None:
    await queue.enqueue(NewJob(kind="other"))
    await queue.enqueue(NewJob(kind="mail", tags=("gpu", "linux")))
    mine = await queue.enqueue(NewJob(kind="mail", tags=("linux",)))
    runner = await register(kinds=("mail",), tags=("linux", "docker"))
    assert [job.id for job in (await runner.step(9)).jobs] == [mine.id]


async def test_a_lane_made_after_the_registration_is_found(queue: Queue, register: Register) -> None:
    runner = await register()
    assert not (await runner.step(1)).jobs
    made = await queue.enqueue(NewJob(kind="new", tags=()))
    assert [job.id for job in (await runner.step(1)).jobs] == [made.id]
