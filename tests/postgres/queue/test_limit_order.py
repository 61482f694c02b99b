"""A producer that sets a key's limit waits for nobody who waits for that key."""

import asyncio

import asyncpg

from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import Connect, Register, Tick, waits_for_a_lock

ACK = "SELECT verdict, refused FROM paceline.step($1, 0, $2, $3)"
ENQUEUE = "SELECT id, created FROM paceline.enqueue('builds', '{mail}', '{1}', ARRAY[9::smallint], p_key => $1"


async def test_a_producer_that_sets_a_limit_does_not_hold_up_the_ack_that_it_waits_for(
    queue: Queue, register: Register, connect: Connect, tick: Tick
) -> None:
    """The producer waits for the end of a job with the same dedupe value, whose ack wants the key."""
    await queue.enqueue(NewJob(kind="mail", key="a", dedupe="x"))
    await tick()
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    acking, producing, beside, watcher = await connect(), await connect(), await connect(), await connect()
    await beside.execute("BEGIN")
    await beside.fetch(f"{ENQUEUE})", ["b"])  # the first of that priority: others wait for its band
    made = asyncio.create_task(producing.fetch(f"{ENQUEUE}, p_key_limit => '{{2}}', p_dedupe => '{{x}}')", ["a"]))
    await waits_for_a_lock(watcher, producing.get_server_pid())
    done = asyncio.create_task(acking.fetch(ACK, runner.id, [job.id], [job.fence]))
    await _done_or_waits(done, watcher, acking)
    await beside.execute("COMMIT")
    assert [tuple(row) for row in await done] == [("ok", None)]
    assert [row["created"] for row in await made] == [True]
    assert await queue.database.value("SELECT max_running FROM paceline.key WHERE name = 'a'") == 2


async def _done_or_waits(
    task: "asyncio.Task[list[asyncpg.Record]]",
    watcher: "asyncpg.Connection[asyncpg.Record]",
    session: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    waiting = asyncio.create_task(waits_for_a_lock(watcher, session.get_server_pid()))
    await asyncio.wait([task, waiting], return_when="FIRST_COMPLETED")
    waiting.cancel()
    await asyncio.wait([waiting])
