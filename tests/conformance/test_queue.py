"""What every queue of ours does, the doubles as well as the real one: producers and outcomes, order, keys, time."""

from datetime import timedelta

import pytest

from paceline.claims import Failed, Finished
from paceline.errors import DatabaseError, InvalidInputError
from paceline.job import JobId, NewJob
from support.backends import Backend

HOUR = timedelta(hours=1)


async def test_a_job_goes_from_ready_over_running_to_done(backend: Backend) -> None:
    made = await backend.queue.enqueue("mail", {"to": ["x", 1, None]})
    assert made.created
    assert await backend.state_of(made.id) == "ready"
    runner = await backend.register()
    (job,) = (await runner.step(1)).jobs
    assert (job.id, job.kind, job.payload, job.priority) == (made.id, "mail", {"to": ["x", 1, None]}, 5)
    assert await backend.state_of(made.id) == "running"
    assert not (await runner.step(0, [Finished(job, '{"sent": true}')])).refused
    assert await backend.state_of(made.id) == "done"


async def test_what_the_producer_said_reaches_the_runner(backend: Backend) -> None:
    await backend.queue.enqueue(
        NewJob(kind="mail", priority=7, timeout=timedelta(microseconds=1500), trace="00-abc-def-01")
    )
    runner = await backend.register()
    (job,) = (await runner.step(1)).jobs
    assert (job.priority, job.timeout_ms, job.trace, job.tries, job.losses) == (7, 2, "00-abc-def-01", 0, 0)
    assert 0 <= job.waited < 60


async def test_many_jobs_get_their_ids_in_order_and_nothing_is_made_of_nothing(backend: Backend) -> None:
    assert await backend.queue.enqueue_many([]) == []
    made = await backend.queue.enqueue_many([NewJob(kind="mail", payload=number) for number in range(3)])
    assert [each.created for each in made] == [True] * 3
    assert [each.id for each in made] == sorted({each.id for each in made})


async def test_a_payload_given_twice_is_refused(backend: Backend) -> None:
    with pytest.raises(InvalidInputError, match="given twice"):
        await backend.queue.enqueue(NewJob(kind="mail", payload=1), 2)


@pytest.mark.parametrize("pool", ["", "Builds", "-x", "x" * 64])
async def test_a_pool_must_have_a_name(backend: Backend, pool: str) -> None:
    with pytest.raises(InvalidInputError, match=rf'pool "{pool}" is not a name: use at most 63 lower-case letters'):
        await backend.beside(pool).enqueue("mail")


async def test_a_closed_queue_takes_nothing(backend: Backend) -> None:
    await backend.queue.close()
    with pytest.raises(DatabaseError, match="closed"):
        await backend.queue.enqueue("mail")


async def test_a_live_dedupe_value_is_not_made_again_and_a_finished_one_is(backend: Backend) -> None:
    first = await backend.queue.enqueue(NewJob(kind="mail", dedupe="x"))
    again = await backend.queue.enqueue(NewJob(kind="mail", dedupe="x"))
    assert (again.id, again.created) == (first.id, False)
    assert (await backend.queue.enqueue(NewJob(kind="other", dedupe="x"))).created
    assert (await backend.beside("elsewhere").enqueue(NewJob(kind="mail", dedupe="x"))).created
    many = await backend.queue.enqueue_many([NewJob(kind="mail", dedupe=value) for value in ("a", "x", "a", "b")])
    assert [each.created for each in many] == [True, False, False, True]
    assert many[2].id == many[0].id
    assert await backend.queue.cancel(first.id) == "cancelled"
    assert (await backend.queue.enqueue(NewJob(kind="mail", dedupe="x"))).created


async def test_the_highest_priority_of_all_lanes_comes_first(backend: Backend) -> None:
    made = [
        await backend.queue.enqueue(NewJob(kind=kind, priority=priority))
        for kind, priority in (("a", 3), ("b", 8), ("a", 6))
    ]
    runner = await backend.register()
    order = [(await runner.step(1)).jobs[0].id for _ in made]
    assert order == [made[1].id, made[2].id, made[0].id]


async def test_within_a_priority_it_is_first_in_first_out_by_becoming_ready(backend: Backend) -> None:
    runner = await backend.register()
    again = await backend.queue.enqueue("mail")
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "again", timedelta(0))])
    made = [await backend.queue.enqueue(NewJob(kind="mail", priority=priority)) for priority in (0, 5, 9, 5)]
    await backend.tick()
    order = [job.id for job in (await runner.step(9)).jobs]
    assert order == [made[2].id, made[1].id, made[3].id, again.id, made[0].id]


async def test_no_lane_starves(backend: Backend) -> None:
    await backend.queue.enqueue_many([NewJob(kind="flood") for _ in range(60)])
    lonely = await backend.queue.enqueue("lonely")
    runner = await backend.register()
    for _ in range(60):  # passed over sixty times in a row by a fair coin: 1 in 10^18
        if (await runner.step(1)).jobs[0].id == lonely.id:
            break
    assert await backend.state_of(lonely.id) == "running"


async def test_no_more_is_claimed_than_wanted(backend: Backend) -> None:
    await backend.queue.enqueue_many([NewJob(kind=kind) for kind in "abcabc"])
    runner = await backend.register()
    assert [len((await runner.step(want)).jobs) for want in (0, -1, 1, 4, 4)] == [0, 0, 1, 4, 1]


async def test_a_runner_gets_only_the_kinds_and_tags_that_it_can_serve(backend: Backend) -> None:
    await backend.queue.enqueue("other")
    await backend.queue.enqueue(NewJob(kind="mail", tags=("gpu", "linux")))
    mine = await backend.queue.enqueue(NewJob(kind="mail", tags=("linux",)))
    runner = await backend.register(kinds=("mail",), tags=("linux", "docker"))
    assert [job.id for job in (await runner.step(9)).jobs] == [mine.id]


async def test_a_star_among_other_kinds_is_no_wildcard(backend: Backend) -> None:
    await backend.queue.enqueue("other")
    mine = await backend.queue.enqueue("mail")
    runner = await backend.register(kinds=("*", "mail"))
    assert [job.id for job in (await runner.step(9)).jobs] == [mine.id]


async def test_a_runner_gets_nothing_of_another_pool(backend: Backend) -> None:
    await backend.beside("other").enqueue("mail")
    runner = await backend.register()
    assert not (await runner.step(9)).jobs


async def test_a_delayed_job_waits_for_its_time(backend: Backend) -> None:
    made = await backend.queue.enqueue(NewJob(kind="mail", delay=HOUR))
    runner = await backend.register(lease=10 * HOUR)
    await backend.pass_time(HOUR - timedelta(minutes=1))
    await backend.tick()
    assert await backend.state_of(made.id) == "scheduled"
    assert not (await runner.step(1)).jobs
    await backend.pass_time(timedelta(minutes=2))
    await backend.tick()
    assert await backend.state_of(made.id) == "ready"
    assert [job.id for job in (await runner.step(1)).jobs] == [made.id]


async def test_of_jobs_that_become_due_together_the_one_that_was_due_first_comes_first(backend: Backend) -> None:
    delays = (30, 10, 40, 20)
    made = [
        await backend.queue.enqueue(NewJob(kind="mail", delay=timedelta(minutes=n), payload=n, key=key))
        for key in (None, "k")
        for n in delays
    ]
    await backend.queue.enqueue(NewJob(kind="mail", key="k", key_limit=9, delay=10 * HOUR))
    runner = await backend.register(lease=10 * HOUR)
    await backend.pass_time(HOUR)
    await backend.tick()
    assert await backend.states_of([each.id for each in made]) == ["ready"] * 8
    claimed = [job.payload for job in (await runner.step(9)).jobs]
    assert claimed == [10, 20, 30, 40] * 2


async def test_a_job_that_was_not_started_in_time_expires(backend: Backend) -> None:
    made = await backend.queue.enqueue(NewJob(kind="mail", expires_in=HOUR))
    scheduled = await backend.queue.enqueue(NewJob(kind="mail", expires_in=HOUR, delay=2 * HOUR))
    runner = await backend.register(lease=10 * HOUR)
    await backend.pass_time(HOUR)
    assert not (await runner.step(1)).jobs
    await backend.tick()
    assert await backend.states_of([made.id, scheduled.id]) == ["expired", "expired"]
    assert await backend.queue.cancel(made.id) == "finished"


async def test_a_job_that_runs_does_not_expire(backend: Backend) -> None:
    made = await backend.queue.enqueue(NewJob(kind="mail", expires_in=HOUR))
    runner = await backend.register(lease=10 * HOUR)
    await runner.step(1)
    await backend.pass_time(2 * HOUR)
    await backend.tick()
    assert await backend.state_of(made.id) == "running"


async def test_a_keyed_job_is_admitted_by_the_tick_up_to_the_limit(backend: Backend) -> None:
    made = await backend.queue.enqueue_many([NewJob(kind="mail", key="k", key_limit=2) for _ in range(3)])
    free = await backend.queue.enqueue(NewJob(kind="mail", key="other"))
    ids = [each.id for each in made] + [free.id]
    assert await backend.states_of(ids) == ["blocked"] * 4
    await backend.tick()
    assert await backend.states_of(ids) == ["ready", "ready", "blocked", "ready"]


async def test_keys_are_admitted_by_priority_and_then_in_order(backend: Backend) -> None:
    made = [await backend.queue.enqueue(NewJob(kind="mail", key="k", priority=priority)) for priority in (1, 5, 9, 5)]
    runner = await backend.register()
    await backend.tick()
    order = []
    done: list[Finished] = []
    for _ in made:
        (job,) = (await runner.step(9, done)).jobs
        order.append(job.id)
        done = [Finished(job)]
    assert order == [made[2].id, made[1].id, made[3].id, made[0].id]


async def test_the_last_enqueue_that_names_a_limit_sets_it(backend: Backend) -> None:
    runner = await backend.register()
    await backend.queue.enqueue_many([NewJob(kind="mail", key="k") for _ in range(5)])
    await backend.tick()
    assert len((await runner.step(9)).jobs) == 1
    await backend.queue.enqueue(NewJob(kind="mail", key="k", key_limit=4))
    await backend.queue.enqueue(NewJob(kind="mail", key="k"))
    await backend.tick()
    assert len((await runner.step(9)).jobs) == 3


async def test_of_several_limits_in_one_batch_the_last_one_counts(backend: Backend) -> None:
    runner = await backend.register()
    for limits, most in (([5, 2, None], 2), ([2, 7, 2], 2), ([1, 3], 3)):
        await backend.queue.enqueue_many([NewJob(kind="mail", key="k", key_limit=limit) for limit in limits])
        await backend.queue.enqueue_many([NewJob(kind="mail", key="k") for _ in range(9)])
        await backend.tick()
        jobs = (await runner.step(99)).jobs
        assert len(jobs) == most
        await runner.fail([Failed(job, "over", None) for job in jobs])
        for job in (await runner.step(99)).jobs:
            await runner.hand_back([job])


async def test_every_way_out_frees_the_permit(backend: Backend) -> None:
    job = NewJob(kind="mail", key="k", max_tries=1, max_losses=0, expires_in=HOUR)
    made = [each.id for each in await backend.queue.enqueue_many([job] * 7)]
    runner = await backend.register("a", lease=10 * HOUR)
    order: list[JobId] = []

    async def next_job() -> Finished:
        await backend.tick()
        (claimed,) = (await runner.step(9)).jobs
        order.append(claimed.id)
        return Finished(claimed)

    await runner.step(0, [await next_job()])
    await runner.fail([Failed((await next_job()).job, "dead")])
    cancelled = (await next_job()).job
    await backend.queue.cancel(cancelled.id)
    await runner.fail([Failed(cancelled, "cancelled", timedelta(0))])
    await backend.tick()
    assert await backend.queue.cancel(made[3]) == "cancelled", "it was ready and held the permit"
    await next_job()
    await backend.expire_lease(runner)
    await backend.tick()
    assert await backend.state_of(made[4]) == "dead"
    assert await backend.state_of(made[5]) == "ready"
    last = await backend.queue.enqueue(NewJob(kind="mail", key="k"))
    await backend.pass_time(HOUR)
    await backend.tick()
    runner = await backend.register("b")
    await next_job()
    assert order == [*made[:3], made[4], last.id]


async def test_a_retried_job_gives_its_permit_up_while_it_waits(backend: Backend) -> None:
    await backend.queue.enqueue_many([NewJob(kind="mail", key="k") for _ in range(2)])
    runner = await backend.register()
    await backend.tick()
    (first,) = (await runner.step(9)).jobs
    await runner.fail([Failed(first, "later", HOUR)])
    (second,) = (await runner.step(9)).jobs
    assert second.id != first.id


async def test_a_handed_back_job_keeps_its_permit(backend: Backend) -> None:
    made = await backend.queue.enqueue_many([NewJob(kind="mail", key="k") for _ in range(2)])
    runner = await backend.register()
    await backend.tick()
    (first,) = (await runner.step(9)).jobs
    await runner.hand_back([first])
    await backend.tick()
    assert await backend.states_of([each.id for each in made]) == ["ready", "blocked"]


async def test_a_permit_is_not_held_by_a_job_that_no_live_runner_can_claim(backend: Backend) -> None:
    held = await backend.queue.enqueue(NewJob(kind="mail", key="k", tags=("gpu",), priority=9))
    claimable = await backend.queue.enqueue(NewJob(kind="mail", key="k"))
    await backend.tick()
    assert await backend.states_of([held.id, claimable.id]) == ["ready", "blocked"]
    runner = await backend.register()
    await backend.tick()
    assert [job.id for job in (await runner.step(9)).jobs] == [claimable.id]
    assert await backend.state_of(held.id) == "blocked"


async def test_keys_of_different_pools_have_nothing_to_do_with_each_other(backend: Backend) -> None:
    await backend.queue.enqueue(NewJob(kind="mail", key="k"))
    await backend.beside("other").enqueue(NewJob(kind="mail", key="k"))
    await backend.tick()
    one, two = await backend.register("one"), await backend.register("two", pool="other")
    assert [len((await runner.step(9)).jobs) for runner in (one, two)] == [1, 1]


@pytest.mark.parametrize("job", [{}, {"key": "k"}, {"delay": HOUR}], ids=["ready", "blocked", "scheduled"])
async def test_a_waiting_job_is_cancelled_at_once(backend: Backend, job: dict[str, str]) -> None:
    made = await backend.queue.enqueue(NewJob(kind="mail", **job))  # type: ignore[arg-type]
    assert await backend.queue.cancel(made.id) == "cancelled"
    assert await backend.state_of(made.id) == "cancelled"
    assert await backend.queue.cancel(made.id) == "finished"
    assert await backend.queue.cancel(JobId(made.id + 1000)) == "unknown"


async def test_a_job_that_waits_for_its_time_or_is_dead_can_be_tried_again_now(backend: Backend) -> None:
    later = await backend.queue.enqueue(NewJob(kind="mail", delay=HOUR))
    keyed = await backend.queue.enqueue(NewJob(kind="mail", delay=HOUR, key="k"))
    dead = await backend.queue.enqueue(NewJob(kind="mail", dedupe="d"))
    runner = await backend.register()
    (job,) = (await runner.step(9)).jobs
    assert await backend.queue.retry(job.id) == "running"
    await runner.fail([Failed(job, "over")])
    for made in (later, keyed, dead):
        assert await backend.queue.retry(made.id) == "retried"
        assert await backend.queue.retry(made.id) == "waiting"
    await backend.tick()
    claimed = (await runner.step(9)).jobs
    assert {each.id for each in claimed} == {later.id, keyed.id, dead.id}
    assert [each.tries for each in claimed] == [0, 0, 0]
    await runner.step(0, [Finished(each) for each in claimed])
    assert await backend.queue.retry(dead.id) == "finished"
    assert await backend.queue.retry(JobId(10**9)) == "unknown"


async def test_a_dead_job_whose_dedupe_value_is_live_again_stays_dead(backend: Backend) -> None:
    made = await backend.queue.enqueue(NewJob(kind="mail", dedupe="d"))
    runner = await backend.register()
    (job,) = (await runner.step(9)).jobs
    await runner.fail([Failed(job, "over")])
    await backend.queue.enqueue(NewJob(kind="mail", dedupe="d"))
    assert await backend.queue.retry(made.id) == "duplicate"
    assert await backend.state_of(made.id) == "dead"


async def test_a_paused_pool_gives_out_nothing_and_takes_acks(backend: Backend) -> None:
    await backend.queue.enqueue_many([NewJob(kind="mail") for _ in range(2)])
    runner = await backend.register()
    (job,) = (await runner.step(1)).jobs
    await backend.queue.pause()
    step = await runner.step(1, [Finished(job)])
    assert (step.verdict, step.jobs, step.refused) == ("paused", (), frozenset())
    assert (await runner.heartbeat()).verdict == "ok"
    await backend.queue.resume()
    assert len((await runner.step(1)).jobs) == 1
