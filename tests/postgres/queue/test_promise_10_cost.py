"""Promise 10: what a claim costs does not grow with what waits. Counted in rows and index entries, not in time."""

from datetime import timedelta

import pytest

from paceline.claims import Finished
from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import Connect, Register, Tick, everybody_is_done

FILL = """
INSERT INTO paceline.job (seq, lane, kind, priority, state, run_at, ready_at, key, max_tries, max_losses, payload)
SELECT nextval('paceline.seq'), l.id, l.kind, $2::smallint, $3::text::"char",
       CASE WHEN $3 = 's' THEN now() + interval '1 day' END, clock_timestamp(), $4, 5, 3, '{}'
  FROM paceline.lane l, generate_series(1, $1)"""
READ = """
SELECT coalesce(sum(idx_tup_fetch + seq_tup_read), 0)::bigint FROM pg_stat_xact_user_tables
 WHERE schemaname = 'paceline' AND relname = 'job'"""
NO_TICK = "UPDATE paceline.tick SET next_at = 'infinity'"
LONG = timedelta(hours=1)
"""A lease that outlasts the transactions of other tests."""
MOST = 400
"""Rows of the job table that a claim of 50 may touch: the 50 themselves, a few times over."""


async def _rows_of_a_claim(queue: Queue, register: Register, connect: Connect, tick: Tick) -> int:
    runner = await register(lease=LONG)
    await runner.step(0)
    await queue.database.value("ANALYZE paceline.job")
    await tick()
    await queue.database.value(NO_TICK)
    connection = await connect()
    async with connection.transaction():
        before = await connection.fetchval(READ)
        claimed = await connection.fetchval("SELECT cardinality(ids) FROM paceline.step($1, 50)", runner.id)
        after = await connection.fetchval(READ)
    assert claimed == 50
    touched: int = after - before
    return touched


@pytest.mark.parametrize(
    ("waiting", "priority", "state"),
    [(100, 5, "r"), (100_000, 5, "r"), (100_000, 9, "s"), (20_000, 9, "b")],
    ids=["hardly anything", "100k ready", "100k in the future", "20k blocked on one key"],
)
async def test_a_claim_touches_only_what_it_takes(
    queue: Queue, register: Register, connect: Connect, tick: Tick, waiting: int, priority: int, state: str
) -> None:
    await queue.enqueue(NewJob(kind="mail", priority=priority))
    key = None
    if state == "b":
        await queue.database.value("SELECT paceline.set_key('builds', 'k', 1)")
        key = await queue.database.value("SELECT id FROM paceline.key")
    await queue.database.value(FILL, waiting, priority, state, key)
    if state != "r":
        await queue.enqueue_many([NewJob(kind="mail")] * 100)
    assert await _rows_of_a_claim(queue, register, connect, tick) < MOST


async def test_a_claim_skips_what_was_finished_while_an_old_snapshot_keeps_it_from_being_cleaned_up(
    queue: Queue, register: Register, connect: Connect, tick: Tick
) -> None:
    await queue.enqueue("mail")
    await queue.database.value(FILL, 6000, 5, "r", None)
    holder = await connect()
    await holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    await holder.fetchval("SELECT count(*) FROM paceline.job")
    runner = await register("worker", lease=LONG)
    done: list[Finished] = []
    for _ in range(26):
        done = [Finished(job) for job in (await runner.step(200, done)).jobs]
    await tick()
    await everybody_is_done(queue.database)
    await tick()
    low = await queue.database.value("SELECT max(low) FROM paceline.band")
    first = await queue.database.value("SELECT min(seq) FROM paceline.job WHERE state = 'r'")
    assert low == first
    assert first > 5000


@pytest.mark.parametrize(
    ("before", "lower", "whole"),
    [(100, 150, 150), (2**32 + 7, 9, 2**32 + 9), (2**32 - 6, 5, 2**32 + 5), (3 * 2**32 - 1, 3, 3 * 2**32 + 3)],
)
async def test_an_id_is_whole_also_where_its_lower_half_has_begun_anew(
    queue: Queue, before: int, lower: int, whole: int
) -> None:
    said = await queue.database.value("SELECT paceline.whole_xid($1::text::xid8, $2)::text", str(before), lower)
    assert int(said) == whole


@pytest.mark.parametrize("ticker", ["after the producer", "before the producer"])
async def test_a_position_is_not_skipped_while_the_newest_of_all_transactions_has_it(
    queue: Queue, register: Register, connect: Connect, tick: Tick, ticker: str
) -> None:
    """A snapshot ends one past what is over, not past what has begun; and whoever ticks may be older than both."""
    runner = await register(lease=LONG)
    producer, other = await connect(), await connect()
    await queue.enqueue("mail")
    (job,) = (await runner.step(9)).jobs
    await everybody_is_done(queue.database)
    await tick()
    await queue.database.rows("SELECT * FROM paceline.step($1, 0, $2, $3)", runner.id, [job.id], [job.fence])
    await queue.database.value("UPDATE paceline.tick SET next_at = '-infinity', mark_at = '-infinity'")
    await other.execute("BEGIN")
    if ticker == "before the producer":
        await other.fetchval("SELECT pg_current_xact_id()")
    await producer.execute("BEGIN")
    early = await producer.fetchval("SELECT id FROM paceline.enqueue('builds', '{mail}', '{1}')")
    assert await other.fetchval("SELECT paceline.tick()"), "nothing ended since the producer took its position"
    await other.execute("COMMIT")
    for _ in range(2):
        await tick()
    await producer.execute("COMMIT")
    assert [job.id for job in (await runner.step(9)).jobs] == [early]


async def test_a_position_is_not_skipped_while_a_producer_that_took_it_has_not_committed(
    queue: Queue, register: Register, connect: Connect, tick: Tick
) -> None:
    runner = await register(lease=LONG)
    producer = await connect()
    await queue.enqueue("mail")
    await producer.execute("BEGIN")
    early = await producer.fetchval("SELECT id FROM paceline.enqueue('builds', '{mail}', '{1}')")
    late = await queue.enqueue("mail")
    claimed = (await runner.step(9)).jobs
    assert late.id in {job.id for job in claimed}
    await queue.database.rows(
        "SELECT * FROM paceline.step($1, 0, $2, $3)",
        runner.id,
        [job.id for job in claimed],
        [job.fence for job in claimed],
    )
    for _ in range(3):
        await tick()
    await producer.execute("COMMIT")
    await everybody_is_done(queue.database)
    for _ in range(3):
        await tick()
    assert [job.id for job in (await runner.step(9)).jobs] == [early]
