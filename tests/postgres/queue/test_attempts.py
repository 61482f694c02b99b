"""What is known of an attempt: its deadline, its progress, and what it wrote."""

from datetime import timedelta

from paceline.claims import Failed, Finished
from paceline.job import OUTPUT_LIMIT, JobId, NewJob
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.seen import JobDetail
from support.pg import Expire, Register, Tick

MINUTE = timedelta(minutes=1)


async def _seen(queue: Queue, job: JobId) -> JobDetail:
    found = await Reader(queue.database).job_detail(job)
    assert found is not None
    return found


async def test_an_extension_moves_the_deadline_of_this_attempt_only(queue: Queue, register: Register) -> None:
    made = await queue.enqueue(NewJob(kind="mail", timeout=MINUTE))
    assert (await _seen(queue, made.id)).deadline is None
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    seen = await _seen(queue, made.id)
    assert seen.claimed_at is not None
    assert seen.deadline == seen.claimed_at + MINUTE
    assert await runner.extend(job, 30 * MINUTE)
    moved = (await _seen(queue, made.id)).deadline
    assert moved is not None
    assert moved - seen.deadline > 28 * MINUTE
    await runner.hand_back([job])
    (again,) = (await runner.step(1)).jobs
    assert again.timeout == MINUTE
    seen = await _seen(queue, made.id)
    assert seen.claimed_at is not None
    assert seen.deadline == seen.claimed_at + MINUTE


async def test_progress_is_seen_while_it_runs_and_begins_anew_with_the_next_claim(
    queue: Queue, register: Register
) -> None:
    made = await queue.enqueue("mail")
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    assert await runner.progress(job, {"done": 1, "of": 3})
    assert await runner.progress(job, {"done": 2, "of": 3})
    assert (await _seen(queue, made.id)).progress == {"done": 2, "of": 3}
    await runner.fail([Failed(job, "over", timedelta(0))])
    assert (await _seen(queue, made.id)).progress == {"done": 2, "of": 3}
    await queue.retry(job.id)
    await runner.step(1)
    assert (await _seen(queue, made.id)).progress is None


async def test_what_a_done_attempt_wrote_is_kept_and_only_then_is_it_on_record(
    queue: Queue, register: Register
) -> None:
    await queue.enqueue_many([NewJob(kind="mail")] * 3)
    runner = await register()
    loud, quiet, late = (await runner.step(3)).jobs
    await runner.hand_back([late])
    step = await runner.step(0, [Finished(quiet), Finished(loud, "1", "said this"), Finished(late, None, "too late")])
    assert step.refused == {late.id}
    reader = Reader(queue.database)
    (attempt,) = await reader.job_attempts(loud.id)
    assert (attempt.outcome, attempt.output, attempt.error, attempt.runner) == ("done", "said this", None, "r1")
    assert await reader.job_attempts(quiet.id) == []
    assert [each.outcome for each in await reader.job_attempts(late.id)] == ["handed_back"]
    assert (await _seen(queue, loud.id)).result == 1


async def test_the_end_of_a_long_output_is_kept_and_what_cannot_be_stored_costs_nothing(
    queue: Queue, register: Register
) -> None:
    await queue.enqueue_many([NewJob(kind="mail")] * 2)
    runner = await register()
    done, failed = (await runner.step(2)).jobs
    text = "x" * OUTPUT_LIMIT + "\0 and \ud800 at the end"
    assert not (await runner.step(0, [Finished(done, None, text)])).refused
    assert not await runner.fail([Failed(failed, "broke at \0", output=text)])
    for job in (done, failed):
        (attempt,) = await Reader(queue.database).job_attempts(job.id)
        assert attempt.output is not None
        assert len(attempt.output) == OUTPUT_LIMIT
        assert attempt.output.endswith("x\ufffd and ? at the end")
    assert (await Reader(queue.database).job_attempts(failed.id))[0].error == "broke at \ufffd"


async def test_output_is_kept_where_no_partition_is(queue: Queue, register: Register) -> None:
    await queue.enqueue("mail")
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await queue.database.value("UPDATE paceline.tick SET history_until = '-infinity'")
    assert not (await runner.step(0, [Finished(job, "2", "said this")])).refused
    (attempt,) = await Reader(queue.database).job_attempts(job.id)
    assert (attempt.outcome, attempt.output) == ("done", "said this")
    assert (await _seen(queue, job.id)).result == 2


async def test_a_runner_that_has_lost_a_job_is_told_and_changes_nothing(
    queue: Queue, register: Register, expire_lease: Expire, tick: Tick
) -> None:
    made = await queue.enqueue("mail")
    zombie, other = await register("zombie"), await register("other")
    (lost,) = (await zombie.step(1)).jobs
    await expire_lease(zombie)
    await tick()
    (taken,) = (await other.step(1)).jobs
    assert await other.progress(taken, "mine")
    assert not await zombie.progress(lost, "not mine")
    assert not await zombie.extend(lost, MINUTE)
    seen = await _seen(queue, made.id)
    assert (seen.progress, seen.deadline) == ("mine", None)
