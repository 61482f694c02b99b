"""What every queue of ours does, the doubles as well as the real one: fences, losses, drains, taints, dead letters."""

from datetime import timedelta

import pytest

from paceline.claims import Failed, Finished
from paceline.errors import InvalidInputError, NameTakenError
from paceline.job import NewJob
from support.backends import Backend

HOUR = timedelta(hours=1)


async def test_a_job_has_one_claimant(backend: Backend) -> None:
    made = await backend.queue.enqueue("mail")
    one, two = await backend.register("one"), await backend.register("two")
    assert [job.id for job in (await one.step(9)).jobs] == [made.id]
    assert not (await two.step(9)).jobs
    assert not (await one.step(9)).jobs


async def test_the_fence_grows_with_every_claim(backend: Backend) -> None:
    await backend.queue.enqueue("mail")
    runner = await backend.register()
    fences = []
    for _ in range(3):
        (job,) = (await runner.step(1)).jobs
        fences.append(job.fence)
        assert not await runner.hand_back([job])
    assert fences == sorted(set(fences))


async def test_a_zombies_writes_are_refused_and_told(backend: Backend) -> None:
    made = await backend.queue.enqueue("mail")
    zombie, other = await backend.register("zombie"), await backend.register("other")
    (lost,) = (await zombie.step(1)).jobs
    await backend.expire_lease(zombie)
    await backend.tick()
    (taken,) = (await other.step(1)).jobs
    step = await zombie.step(1, [Finished(lost)])
    assert (step.verdict, step.jobs, step.refused) == ("fenced", (), frozenset({made.id}))
    assert await zombie.fail([Failed(lost, "late")]) == {made.id}
    assert await zombie.hand_back([lost]) == {made.id}
    assert not await zombie.extend(lost, HOUR)
    assert not await zombie.progress(lost, 1)
    assert await zombie.deregister() == 0
    assert await backend.state_of(made.id) == "running"
    assert not (await other.step(0, [Finished(taken)])).refused


async def test_an_old_attempt_of_the_same_runner_is_refused(backend: Backend) -> None:
    await backend.queue.enqueue("mail")
    runner = await backend.register()
    (old,) = (await runner.step(1)).jobs
    await runner.hand_back([old])
    await backend.queue.enqueue("mail")
    other = next(job for job in (await runner.step(2)).jobs if job.id != old.id)
    assert (await runner.step(0, [Finished(old), Finished(other)])).refused == {old.id}
    assert await backend.states_of([old.id, other.id]) == ["running", "done"]


async def test_one_runner_cannot_finish_anothers_job(backend: Backend) -> None:
    await backend.queue.enqueue("mail")
    one, two = await backend.register("one"), await backend.register("two")
    (job,) = (await one.step(1)).jobs
    assert (await two.step(0, [Finished(job)])).refused == {job.id}
    assert await two.fail([Failed(job, "no", timedelta(0))]) == {job.id}
    assert await two.hand_back([job]) == {job.id}
    assert not (await one.step(0, [Finished(job)])).refused


async def test_a_result_that_is_no_json_is_refused_and_nothing_is_acked(backend: Backend) -> None:
    made = await backend.queue.enqueue("mail")
    runner = await backend.register()
    (job,) = (await runner.step(1)).jobs
    with pytest.raises(InvalidInputError):
        await runner.step(0, [Finished(job, "{no json")])
    assert await backend.state_of(made.id) == "running"


async def test_a_heartbeat_keeps_the_lease_and_does_not_revive_one_that_ended(backend: Backend) -> None:
    runner = await backend.register(lease=HOUR)
    for _ in range(3):
        await backend.pass_time(HOUR * 2 / 3)
        assert (await runner.heartbeat()).verdict == "ok"
    await backend.pass_time(HOUR + timedelta(seconds=1))
    assert (await runner.heartbeat()).verdict == "fenced"
    assert (await runner.step(1)).verdict == "fenced"


async def test_a_lost_job_is_claimable_after_a_tick_and_no_try_is_charged(backend: Backend) -> None:
    made = await backend.queue.enqueue("mail")
    runner, other = await backend.register("a"), await backend.register("b", lease=HOUR)
    await runner.step(1)
    await backend.pass_time(timedelta(minutes=1))
    await backend.tick()
    (again,) = (await other.step(1)).jobs
    assert (again.id, again.tries, again.losses) == (made.id, 0, 1)


async def test_a_job_that_outlives_too_many_runners_is_poison(backend: Backend) -> None:
    made = await backend.queue.enqueue(NewJob(kind="mail", max_losses=1))
    for number in range(2):
        runner = await backend.register(f"r{number}")
        assert [job.losses for job in (await runner.step(1)).jobs] == [number]
        await backend.expire_lease(runner)
        await backend.tick()
    assert await backend.state_of(made.id) == "dead"


async def test_handing_back_and_leaving_charge_nothing(backend: Backend) -> None:
    await backend.queue.enqueue_many([NewJob(kind="mail") for _ in range(2)])
    runner, other = await backend.register("a"), await backend.register("b")
    one, _ = (await runner.step(2)).jobs
    await runner.hand_back([one])
    assert await runner.deregister() == 1
    assert (await runner.heartbeat()).verdict == "fenced"
    assert {(job.tries, job.losses) for job in (await other.step(2)).jobs} == {(0, 0)}


async def test_a_failed_job_waits_and_is_tried_again_until_it_is_dead(backend: Backend) -> None:
    made = await backend.queue.enqueue(NewJob(kind="mail", max_tries=2))
    runner = await backend.register(lease=10 * HOUR)
    (job,) = (await runner.step(1)).jobs
    assert not await runner.fail([Failed(job, "boom", HOUR)])
    assert await backend.state_of(made.id) == "scheduled"
    assert not (await runner.step(1)).jobs
    await backend.pass_time(HOUR)
    await backend.tick()
    (job,) = (await runner.step(1)).jobs
    assert job.tries == 1
    assert not await runner.fail([Failed(job, "boom", HOUR)])
    assert await backend.state_of(made.id) == "dead"


async def test_a_failure_that_is_final_does_not_wait_for_more_tries(backend: Backend) -> None:
    made = await backend.queue.enqueue("mail")
    runner = await backend.register()
    (job,) = (await runner.step(1)).jobs
    assert not await runner.fail([Failed(job, "never again")])
    assert await backend.state_of(made.id) == "dead"


async def test_a_redriven_dead_letter_has_a_clean_slate(backend: Backend) -> None:
    made = await backend.queue.enqueue(NewJob(kind="mail", payload=1, expires_in=HOUR))
    runner = await backend.register(lease=10 * HOUR)
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "boom")])
    assert await backend.queue.redrive([made.id, made.id]) == [made.id]
    assert await backend.queue.redrive([made.id]) == []
    await backend.pass_time(2 * HOUR)
    await backend.tick()
    (again,) = (await runner.step(1)).jobs
    assert (again.id, again.tries, again.payload) == (made.id, 0, 1)
    assert again.fence > job.fence


async def test_a_redriven_keyed_job_waits_for_its_permit(backend: Backend) -> None:
    first, second = await backend.queue.enqueue_many([NewJob(kind="mail", key="k") for _ in range(2)])
    runner = await backend.register()
    await backend.tick()
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "boom")])
    assert await backend.queue.redrive([first.id]) == [first.id]
    await backend.tick()
    assert await backend.states_of([first.id, second.id]) == ["blocked", "ready"]


async def test_a_dead_letter_stays_dead_while_its_dedupe_value_is_taken(backend: Backend) -> None:
    runner = await backend.register()
    dead = []
    for _ in range(2):
        dead.append((await backend.queue.enqueue(NewJob(kind="mail", dedupe="x"))).id)
        (job,) = (await runner.step(1)).jobs
        await runner.fail([Failed(job, "boom")])
    assert await backend.queue.redrive(dead) == dead[:1]
    assert await backend.states_of(dead) == ["ready", "dead"]


async def test_purge_deletes_dead_letters_only(backend: Backend) -> None:
    live = await backend.queue.enqueue(NewJob(kind="mail", priority=0))
    made = await backend.queue.enqueue("mail")
    runner = await backend.register()
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "boom")])
    assert await backend.queue.purge([live.id, made.id]) == [made.id]
    assert await backend.states_of([live.id, made.id]) == ["ready", None]
    assert await backend.queue.cancel(made.id) == "unknown"


async def test_cancelling_a_running_job_reaches_its_runner(backend: Backend) -> None:
    made = await backend.queue.enqueue("mail")
    runner = await backend.register()
    (job,) = (await runner.step(1)).jobs
    assert await backend.queue.cancel(made.id) == "cancelling"
    assert (await runner.heartbeat()).cancelled == {made.id}
    assert (await runner.step(0)).cancelled == {made.id}
    await runner.fail([Failed(job, "cancelled", timedelta(0))])
    assert await backend.state_of(made.id) == "cancelled"


@pytest.mark.parametrize("way", ["hand back", "leave", "be lost", "finish"])
async def test_a_cancelled_job_does_not_come_back(backend: Backend, way: str) -> None:
    made = await backend.queue.enqueue("mail")
    runner = await backend.register()
    (job,) = (await runner.step(1)).jobs
    await backend.queue.cancel(made.id)
    match way:
        case "hand back":
            assert not await runner.hand_back([job])
        case "leave":
            assert await runner.deregister() == 1
        case "be lost":
            await backend.expire_lease(runner)
        case _:
            assert not (await runner.step(0, [Finished(job)])).refused
    await backend.tick()
    assert await backend.state_of(made.id) == ("done" if way == "finish" else "cancelled")


async def test_a_draining_runner_may_finish_and_claims_nothing(backend: Backend) -> None:
    await backend.queue.enqueue_many([NewJob(kind="mail") for _ in range(2)])
    runner = await backend.register()
    (job,) = (await runner.step(1)).jobs
    assert await runner.drain() == 1
    step = await runner.step(1, [Finished(job)])
    assert (step.verdict, step.jobs, step.refused) == ("draining", (), frozenset())
    assert (await runner.heartbeat()).verdict == "draining"
    assert await runner.drain() == 0


async def test_the_newest_registration_wins_and_a_draining_one_finishes(backend: Backend) -> None:
    await backend.queue.enqueue("mail")
    first = await backend.register("same")
    (job,) = (await first.step(1)).jobs
    assert await first.drain() == 1
    second = await backend.register("same")
    assert second.runner == first.runner
    assert not (await first.step(0, [Finished(job)])).refused
    await backend.queue.enqueue("mail")
    (lost,) = (await second.step(1)).jobs
    third = await backend.register("same")
    assert (await second.heartbeat()).verdict == "fenced"
    assert (await second.step(0, [Finished(lost)])).refused == {lost.id}
    assert [(job.id, job.losses) for job in (await third.step(1)).jobs] == [(lost.id, 1)]


async def test_a_name_belongs_to_the_pool_that_had_it_first(backend: Backend) -> None:
    await backend.register("same")
    with pytest.raises(NameTakenError, match='a Runner called "same" belongs to group "builds" here: choose another'):
        await backend.register("same", pool="other")


TOLERATIONS = {"": 0, "gpu=bad:NoClaim": 1, "gpu=bad": 1, "gpu:NoClaim": 1, "gpu": 1, "*": 1, "gpu=good": 0, "other": 0}


@pytest.mark.parametrize("toleration", TOLERATIONS)
async def test_a_tainted_runner_claims_only_what_tolerates_it(backend: Backend, toleration: str) -> None:
    await backend.queue.enqueue(NewJob(kind="mail", tolerations=tuple(filter(None, [toleration]))))
    runner = await backend.register()
    await backend.taint(runner, "gpu=bad:NoClaim")
    assert len((await runner.step(1)).jobs) == TOLERATIONS[toleration]


async def test_taints_of_one_source_do_not_touch_those_of_another(backend: Backend) -> None:
    await backend.queue.enqueue("mail")
    before = await backend.register()
    await backend.taint(before, "a:NoClaim")
    await backend.taint(before, "a:NoClaim", "cli")
    await backend.taint(before, "")
    runner = await backend.register()
    assert not (await runner.step(1)).jobs, "they survive a restart"
    await backend.taint(runner, "", "cli")
    assert len((await runner.step(1)).jobs) == 1


async def test_a_drain_taint_drains_now_and_after_a_restart(backend: Backend) -> None:
    await backend.queue.enqueue(NewJob(kind="mail", tolerations=("*",)))
    runner = await backend.register()
    assert not runner.draining
    await backend.taint(runner, "maint:Drain")
    assert (await runner.step(1)).verdict == "draining"
    after = await backend.register()
    assert after.draining
    assert (await after.step(1)).verdict == "draining"
    await backend.taint(after, "")
    assert (await after.step(1)).verdict == "draining", "a drain is not taken back"
    assert len((await (await backend.register("other")).step(1)).jobs) == 1


async def test_prefer_no_claim_leaves_a_job_to_others_for_five_seconds(backend: Backend) -> None:
    runner = await backend.register()
    await backend.taint(runner, "a:PreferNoClaim")
    old = await backend.queue.enqueue("mail")
    await backend.pass_time(timedelta(seconds=6))
    young = await backend.queue.enqueue("mail")
    assert [job.id for job in (await runner.step(9)).jobs] == [old.id]
    other = await backend.register("other")
    assert [job.id for job in (await other.step(9)).jobs] == [young.id]


async def test_who_holds_a_job_may_extend_it_and_tell_its_progress(backend: Backend) -> None:
    await backend.queue.enqueue("mail")
    runner = await backend.register()
    (job,) = (await runner.step(1)).jobs
    assert await runner.extend(job, HOUR)
    assert await runner.progress(job, {"done": 3})
    for by in (timedelta(0), -HOUR, timedelta(days=99_999)):
        with pytest.raises(InvalidInputError, match=r"by .* is out of range"):
            await runner.extend(job, by)
    with pytest.raises(InvalidInputError, match=r"progress has .* bytes, the limit is"):
        await runner.progress(job, "x" * 100_000)
    await runner.hand_back([job])
    assert not await runner.extend(job, HOUR)


async def test_a_runner_that_was_ended_is_told_by_whom(backend: Backend) -> None:
    old = await backend.register("r1")
    await backend.register("r1")
    assert ((await old.heartbeat()).verdict, (await old.heartbeat()).cause) == ("fenced", "Replaced")
    late = await backend.register("late")
    await backend.expire_lease(late)
    assert (await late.heartbeat()).cause == "LeaseExpired"
    await backend.tick()
    assert (await late.heartbeat()).cause == "LeaseExpired"
    gone = await backend.register("gone")
    await gone.deregister()
    assert (await gone.heartbeat()).cause == "Deregistered"


async def test_a_runner_that_drains_is_told_whether_it_has_to_leave(backend: Backend) -> None:
    runner = await backend.register("r1")
    beat = await runner.heartbeat()
    assert (beat.verdict, beat.cause, beat.leave) == ("ok", None, False)
    await runner.drain()
    assert ((await runner.heartbeat()).verdict, (await runner.heartbeat()).leave) == ("draining", False)
    await backend.taint(runner, "maint:Drain")
    assert (await runner.heartbeat()).leave


async def test_a_runner_can_ask_what_it_holds(backend: Backend) -> None:
    await backend.queue.enqueue_many([NewJob(kind="mail")] * 3)
    runner = await backend.register()
    assert await runner.held() == {}
    done, *jobs = (await runner.step(3)).jobs
    await runner.step(0, [Finished(done)])
    assert await runner.held() == {job.id: job.fence for job in jobs}
    assert (await runner.heartbeat()).held == 2


async def test_a_runner_that_fences_itself_loses_what_it_holds(backend: Backend) -> None:
    made = await backend.queue.enqueue("mail")
    runner = await backend.register("r1")
    await runner.step(1)
    assert await runner.fence("Stuck") == 1
    assert ((await runner.heartbeat()).verdict, (await runner.heartbeat()).cause) == ("fenced", "Stuck")
    assert await backend.state_of(made.id) == "ready"
    (job,) = (await (await backend.register("r2")).step(1)).jobs
    assert (job.losses, job.tries) == (1, 0)
