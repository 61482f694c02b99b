"""Two sessions at once: whoever comes second sees what the first has done, and nothing is done twice."""

from datetime import timedelta

from paceline.claims import Failed
from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import Connect, Expire, Register, Tick, behind, everybody_is_done

ACK = "SELECT verdict, refused FROM paceline.step($1, 0, $2, $3)"
TICK_NOW = "UPDATE paceline.tick SET next_at = '-infinity'"
NO_TICK = "UPDATE paceline.tick SET next_at = 'infinity'"
LONG = timedelta(hours=1)
"""A lease that outlasts the transactions of other tests."""


async def test_a_sweep_leaves_a_runner_alone_whose_ack_is_in_flight(
    queue: Queue, register: Register, connect: Connect, expire_lease: Expire, tick: Tick
) -> None:
    made = await queue.enqueue("mail")
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    acking = await connect()
    await queue.database.value(NO_TICK)  # else a slow machine does it inside the step, and holds its locks till the end
    await acking.execute("BEGIN")
    assert [tuple(row) for row in await acking.fetch(ACK, runner.id, [job.id], [job.fence])] == [("ok", None)]
    await expire_lease(runner)
    await tick()
    assert await queue.database.value("SELECT state FROM paceline.incarnation WHERE id = $1", runner.id) == b"a"
    await acking.execute("COMMIT")
    await tick()
    assert await queue.database.value("SELECT outcome FROM paceline.history WHERE id = $1", made.id) == b"d"
    assert await queue.database.value("SELECT count(*) FROM paceline.job") == 0


async def test_an_ack_that_waited_for_a_sweep_is_refused(
    queue: Queue, register: Register, connect: Connect, expire_lease: Expire
) -> None:
    await queue.enqueue("mail")
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await expire_lease(runner)
    sweeping, acking, watcher = await connect(), await connect(), await connect()
    await queue.database.value(TICK_NOW)
    await sweeping.execute("BEGIN")
    assert await sweeping.fetchval("SELECT paceline.tick()") is True
    (row,) = await behind(sweeping, watcher, acking, ACK, runner.id, [job.id], [job.fence])
    assert tuple(row) == ("fenced", [job.id])
    assert await queue.database.value("SELECT losses FROM paceline.job WHERE id = $1", job.id) == 1


async def test_a_cancel_that_waited_for_an_ack_comes_too_late(
    queue: Queue, register: Register, connect: Connect
) -> None:
    await queue.enqueue("mail")
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    acking, cancelling, watcher = await connect(), await connect(), await connect()
    await acking.execute("BEGIN")
    await acking.fetch(ACK, runner.id, [job.id], [job.fence])
    (row,) = await behind(acking, watcher, cancelling, "SELECT paceline.cancel($1)", job.id)
    assert row[0] == "finished"


async def test_an_ack_that_waited_for_a_cancel_still_counts(queue: Queue, register: Register, connect: Connect) -> None:
    """The work is done; calling it cancelled would be a lie."""
    made = await queue.enqueue("mail")
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    cancelling, acking, watcher = await connect(), await connect(), await connect()
    await cancelling.execute("BEGIN")
    assert await cancelling.fetchval("SELECT paceline.cancel($1)", job.id) == "cancelling"
    (row,) = await behind(cancelling, watcher, acking, ACK, runner.id, [job.id], [job.fence])
    assert row["refused"] is None
    assert await queue.database.value("SELECT outcome FROM paceline.history WHERE id = $1", made.id) == b"d"


async def test_a_cancel_and_a_fence_at_once_do_not_wait_for_each_other_in_a_circle(
    queue: Queue, register: Register, connect: Connect
) -> None:
    made = await queue.enqueue("mail")
    runner = await register()
    await runner.step(1)
    cancelling, fencing, watcher = await connect(), await connect(), await connect()
    await cancelling.execute("BEGIN")
    await cancelling.fetchval("SELECT paceline.cancel($1)", made.id)
    (row,) = await behind(cancelling, watcher, fencing, "SELECT paceline.fence_incarnation($1, 'Error')", runner.id)
    assert row[0] == 1
    assert await queue.database.value("SELECT outcome FROM paceline.history WHERE id = $1", made.id) == b"c"


async def test_a_scheduled_job_whose_producer_commits_late_is_released_all_the_same(
    queue: Queue, register: Register, connect: Connect, tick: Tick
) -> None:
    producer = await connect()
    await producer.execute("BEGIN")
    early = await producer.fetchval("SELECT id FROM paceline.enqueue('builds', '{mail}', '{1}', p_delay => '{0.001}')")
    other = await connect()
    await other.execute("SELECT pg_sleep(0.05)")  # the database's clock must pass the moment at which it was due
    await queue.database.value("SELECT nextval('paceline.seq')")
    for _ in range(4):
        await tick()
    await producer.execute("COMMIT")
    for _ in range(2):
        await tick()
    runner = await register()
    assert [job.id for job in (await runner.step(9)).jobs] == [early]


async def test_what_was_released_is_not_looked_at_again(queue: Queue, register: Register, tick: Tick) -> None:
    runner = await register(lease=LONG)
    await queue.enqueue_many([NewJob(kind="mail")] * 3)
    jobs = (await runner.step(3)).jobs
    await runner.fail([Failed(job, "again", timedelta(0)) for job in jobs])
    for _ in range(3):
        await tick()
        await everybody_is_done(queue.database)
        await queue.enqueue("mail")
    low = await queue.database.value("SELECT release_low > $1 FROM paceline.tick", runner.lease_until - LONG)
    assert low is True
    assert len((await runner.step(9)).jobs) == 6


async def test_two_batches_with_the_same_dedupe_values_do_not_wait_for_each_other_in_a_circle(
    queue: Queue, connect: Connect
) -> None:
    sql = "SELECT id, created FROM paceline.enqueue('builds', '{mail,mail}', '{1,2}', p_dedupe => $1)"
    await queue.enqueue("mail")
    one, two, watcher = await connect(), await connect(), await connect()
    await one.execute("BEGIN")
    await one.fetch(sql, ["a", "b"])
    rows = await behind(one, watcher, two, sql, ["b", "a"])
    assert [row["created"] for row in rows] == [False, False]
