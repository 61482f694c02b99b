"""Promise 3: a committed job is live, in history or a dead letter, and in exactly one of them."""

from datetime import timedelta

import pytest

from paceline.claims import Failed, Finished
from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import Register, Tick

PLACES = """
SELECT array_agg(place ORDER BY place) FROM (
    SELECT 'live' AS place FROM paceline.job WHERE id = $1
    UNION ALL SELECT 'history ' || outcome::text FROM paceline.history WHERE id = $1
    UNION ALL SELECT 'history ' || outcome::text FROM paceline.history_late WHERE id = $1
    UNION ALL SELECT 'dead' FROM paceline.dead WHERE id = $1) x"""

PARTITIONS = """
SELECT i.inhrelid::regclass::text AS name
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relkind = 'r'"""


async def test_done_is_history_and_keeps_its_result(queue: Queue, register: Register) -> None:
    made = await queue.enqueue("mail")
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await runner.step(0, [Finished(job, '{"sent": true}')])
    assert await queue.database.value(PLACES, made.id) == ["history d"]
    assert await queue.database.value("SELECT result->>'sent' FROM paceline.history WHERE id = $1", made.id) == "true"


async def test_a_job_that_failed_too_often_is_a_dead_letter_with_its_attempts(
    queue: Queue, register: Register, tick: Tick
) -> None:
    made = await queue.enqueue(NewJob(kind="mail", max_tries=2, payload={"to": "x"}))
    runner = await register()
    for number in (1, 2):
        await tick()
        (job,) = (await runner.step(1)).jobs
        assert job.tries == number - 1
        await runner.fail([Failed(job, f"error {number}", timedelta(0), output="said")])
    assert await queue.database.value(PLACES, made.id) == ["dead"]
    dead = (await queue.database.rows("SELECT * FROM paceline.dead"))[0]
    assert (dead["cause"], dead["error"], dead["tries"], dead["payload"]) == ("Failed", "error 2", 2, '{"to": "x"}')
    attempts = await queue.database.rows("SELECT * FROM paceline.attempt WHERE job = $1 ORDER BY fence", made.id)
    assert [(row["outcome"], row["error"], row["output"]) for row in attempts] == [
        (b"f", "error 1", "said"),
        (b"f", "error 2", "said"),
    ]


async def test_a_failure_that_is_final_does_not_wait_for_more_tries(queue: Queue, register: Register) -> None:
    made = await queue.enqueue("mail")
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "never again")])
    assert await queue.database.value(PLACES, made.id) == ["dead"]


async def test_a_redriven_dead_letter_is_live_again_with_a_clean_slate(queue: Queue, register: Register) -> None:
    made = await queue.enqueue("mail", {"to": "x"})
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "boom")])
    assert await queue.redrive([made.id]) == [made.id]
    assert await queue.database.value(PLACES, made.id) == ["live"]
    (again,) = (await runner.step(1)).jobs
    assert (again.id, again.tries, again.payload) == (made.id, 0, {"to": "x"})


async def test_a_dead_letter_stays_dead_while_its_dedupe_value_is_taken(queue: Queue, register: Register) -> None:
    made = await queue.enqueue(NewJob(kind="mail", dedupe="x"))
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "boom")])
    await queue.enqueue(NewJob(kind="mail", dedupe="x"))
    assert await queue.redrive([made.id]) == []
    assert await queue.database.value(PLACES, made.id) == ["dead"]


async def test_purge_deletes_dead_letters_only(queue: Queue, register: Register) -> None:
    made = await queue.enqueue("mail")
    assert await queue.purge([made.id]) == []
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "boom")])
    assert await queue.purge([made.id]) == [made.id]
    assert await queue.database.value(PLACES, made.id) is None


WAITING = [NewJob(kind="mail"), NewJob(kind="mail", key="k"), NewJob(kind="mail", delay=timedelta(9))]


@pytest.mark.parametrize("job", WAITING, ids=["ready", "blocked", "scheduled"])
async def test_a_cancelled_job_is_history(queue: Queue, job: NewJob) -> None:
    made = await queue.enqueue(job)
    assert await queue.cancel(made.id) == "cancelled"
    assert await queue.database.value(PLACES, made.id) == ["history c"]
    assert await queue.cancel(made.id) == "finished"


async def test_cancelling_a_running_job_reaches_its_runner(queue: Queue, register: Register) -> None:
    made = await queue.enqueue("mail")
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    assert await queue.cancel(made.id) == "cancelling"
    assert (await runner.heartbeat()).cancelled == {made.id}
    assert (await runner.step(0)).cancelled == {made.id}
    await runner.fail([Failed(job, "cancelled", timedelta(0))])
    assert await queue.database.value(PLACES, made.id) == ["history c"]


async def test_an_expired_job_is_never_started(queue: Queue, register: Register, tick: Tick) -> None:
    made = await queue.enqueue(NewJob(kind="mail", expires_in=timedelta(0)))
    runner = await register()
    await queue.database.value("UPDATE paceline.tick SET next_at = 'infinity'")  # nobody has cleaned up yet
    assert not (await runner.step(1)).jobs
    await tick()
    assert await queue.database.value(PLACES, made.id) == ["history e"]


async def test_an_ack_does_not_fail_for_a_missing_partition(queue: Queue, register: Register) -> None:
    made = await queue.enqueue("mail")
    failing = await queue.enqueue(NewJob(kind="mail", max_tries=1))
    runner = await register()
    jobs = {job.id: job for job in (await runner.step(2)).jobs}
    names = await queue.database.rows(PARTITIONS)
    for row in names:
        await queue.database.value(f"DROP TABLE {row['name']}")
    await queue.database.value("UPDATE paceline.tick SET history_until = '-infinity'")

    assert not (await runner.step(0, [Finished(jobs[made.id], "7")])).refused
    assert not await runner.fail([Failed(jobs[failing.id], "boom")])
    assert await queue.database.value(PLACES, made.id) == ["history d"]
    assert await queue.database.value(PLACES, failing.id) == ["dead"]

    await queue.database.value("UPDATE paceline.history_late SET finished_at = finished_at - interval '3 days'")
    await queue.database.value("UPDATE paceline.tick SET next_at = '-infinity', slow_at = '-infinity'")
    assert await queue.tick()
    assert await queue.database.value("SELECT result FROM paceline.history WHERE id = $1", made.id) == "7"
    assert await queue.database.value("SELECT count(*) FROM paceline.history_late") == 0
    assert await queue.database.value("SELECT error FROM paceline.attempt WHERE job = $1", failing.id) == "boom"


async def test_deleting_a_group_leaves_its_jobs(queue: Queue, register: Register) -> None:
    group = await queue.database.value("SELECT paceline.put_group('', 'ci', 'builders', 'builds')")
    done, failed, live, running = [await queue.enqueue("mail") for _ in range(4)]
    runner = await register("b-1", group="builders", external=False)
    jobs = {job.id: job for job in (await runner.step(2)).jobs}
    await runner.step(0, [Finished(jobs[done.id])])
    await runner.fail([Failed(jobs[failed.id], "boom")])
    assert [job.id for job in (await runner.step(1)).jobs] == [live.id]

    await queue.database.value("SELECT paceline.delete_group($1)", group)

    places = [await queue.database.value(PLACES, job.id) for job in (done, failed, live, running)]
    assert places == [["history d"], ["dead"], ["live"], ["live"]]
    assert await queue.database.value("SELECT count(*) FROM paceline.incarnation") == 0
    assert (await runner.heartbeat()).verdict == "fenced"
