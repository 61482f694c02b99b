"""A writer holds its own row: sweeps pass it by, and whoever ends it waits."""

import asyncio
from datetime import timedelta

from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import Connect, Expire, Register, Tick, behind, waits_for_a_lock

ACK = "SELECT verdict, refused FROM paceline.step($1, 0, $2, $3)"
FAIL = "SELECT paceline.fail($1, $2, $3, '{boom}', '{60}')"
TICK_NOW = "UPDATE paceline.tick SET next_at = '-infinity'"
NO_TICK = "UPDATE paceline.tick SET next_at = 'infinity'"
LONG = timedelta(hours=1)


async def test_a_sweep_inside_an_ack_passes_by_a_runner_that_is_writing(
    queue: Queue, register: Register, connect: Connect, expire_lease: Expire, tick: Tick
) -> None:
    """The one who acks has a key that the writer waits for; the writer has a job that the sweep would wait for."""
    await queue.enqueue_many([NewJob(kind="mail", key=key, key_limit=3) for key in ("a", "b", "a", "b")])
    await tick()
    acks, fails, holds = (
        await register("r1", lease=LONG),
        await register("r2", lease=LONG),
        await register("r3", lease=LONG),
    )
    first, lost, second, other = [(await who.step(1)).jobs[0] for who in (acks, fails, acks, holds)]  # keys a, a, b, b
    await expire_lease(fails)
    one, two, three, watcher = await connect(), await connect(), await connect(), await connect()
    await queue.database.value(NO_TICK)
    await three.execute("BEGIN")
    await three.fetch(ACK, holds.id, [other.id], [other.fence])  # has key b
    await queue.database.value(TICK_NOW)
    acking = asyncio.create_task(one.fetch(ACK, acks.id, [first.id, second.id], [first.fence, second.fence]))
    await waits_for_a_lock(watcher, one.get_server_pid())  # has key a and wants b; then comes the housekeeping
    failing = asyncio.create_task(two.fetchval(FAIL, fails.id, [lost.id], [lost.fence]))
    await waits_for_a_lock(watcher, two.get_server_pid())  # has its job and wants key a
    await three.execute("COMMIT")
    assert [tuple(row) for row in await acking] == [("ok", None)]
    assert await failing is None
    assert await queue.database.value("SELECT state FROM paceline.job WHERE id = $1", lost.id) == b"s"


async def test_a_goodbye_does_not_count_a_job_that_is_just_failing(
    queue: Queue, register: Register, connect: Connect
) -> None:
    await queue.enqueue("mail")
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    failing, leaving, watcher = await connect(), await connect(), await connect()
    await failing.execute("BEGIN")
    await failing.fetchval(FAIL, runner.id, [job.id], [job.fence])
    (row,) = await behind(failing, watcher, leaving, "SELECT paceline.deregister($1)", runner.id)
    assert row[0] == 0


async def test_housekeeping_passes_by_a_job_that_is_just_cancelled(
    queue: Queue, register: Register, connect: Connect
) -> None:
    """Whoever cancels may do it in a long transaction of his own; the next job of the key is admitted meanwhile."""
    first = await queue.enqueue(NewJob(kind="mail", key="a"))
    second = await queue.enqueue(NewJob(kind="mail", key="a"))
    cancelling, ticking = await connect(), await connect()
    await ticking.execute("SET lock_timeout = '2s'")
    await cancelling.execute("BEGIN")
    assert await cancelling.fetchval("SELECT paceline.cancel($1)", first.id) == "cancelled"
    await queue.database.value(TICK_NOW)
    assert await ticking.fetchval("SELECT paceline.tick()") is True
    runner = await register()
    assert [job.id for job in (await runner.step(2)).jobs] == [second.id]
    await cancelling.execute("COMMIT")
