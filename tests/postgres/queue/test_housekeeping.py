"""What goes by itself: old history, lanes and keys out of use, and nothing that is still needed."""

import asyncio
from datetime import timedelta

import pytest

from paceline.claims import Failed, Finished
from paceline.cron import Cron, CronEntry
from paceline.job import NewJob
from paceline.queue import Queue
from paceline.reading import Reader
from support.pg import Expire, Login, Register, Tick, everybody_is_done

PARTITIONS = """
SELECT array_agg(right(c.relname, 8) ORDER BY 1) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
 WHERE i.inhparent = 'paceline.history'::regclass"""
LONG_AGO = """
CREATE TABLE paceline.history_20200101 PARTITION OF paceline.history
FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')"""
COUNT = "SELECT count(*) FROM paceline.{}"
LONG = timedelta(hours=1)
"""A lease that outlasts the transactions of other tests."""
OLD = "UPDATE paceline.{} SET used_at = clock_timestamp() - interval '2 days'"


async def _slowly(queue: Queue, tick: Tick) -> None:
    await everybody_is_done(queue.database)
    await queue.database.value("UPDATE paceline.tick SET slow_at = '-infinity'")
    await tick()


async def test_partitions_exist_for_the_next_week_and_old_ones_go(queue: Queue, register: Register, tick: Tick) -> None:
    made = await queue.enqueue("mail")
    runner = await register()
    await runner.step(0, [Finished(job) for job in (await runner.step(1)).jobs])
    days = await queue.database.value(PARTITIONS)
    assert len(days) >= 8
    await queue.database.value(LONG_AGO)
    await _slowly(queue, tick)
    assert await queue.database.value(PARTITIONS) == days
    assert await queue.database.value("SELECT count(*) FROM paceline.history WHERE id = $1", made.id) == 1


@pytest.mark.parametrize("table", ["lane", "key"])
async def test_what_nobody_has_used_for_a_day_goes_in_two_steps(
    queue: Queue, register: Register, tick: Tick, table: str
) -> None:
    await queue.enqueue(NewJob(kind="mail", key="k"))
    runner = await register(lease=LONG)
    await tick()
    await runner.step(0, [Finished(job) for job in (await runner.step(1)).jobs])
    await queue.database.value(OLD.format(table))
    count = COUNT.format(table)
    await _slowly(queue, tick)
    assert await queue.database.value(count) == 1, "another transaction may just be using it"
    await _slowly(queue, tick)
    assert await queue.database.value(count) == 0
    await queue.enqueue(NewJob(kind="mail", key="k"))
    await tick()
    assert len((await runner.step(1)).jobs) == 1


@pytest.mark.parametrize("table", ["lane", "key"])
async def test_what_is_used_again_before_the_second_step_stays(
    queue: Queue, register: Register, tick: Tick, table: str
) -> None:
    made = await queue.enqueue(NewJob(kind="mail", key="k"))
    await queue.cancel(made.id)
    await queue.database.value(OLD.format(table))
    await _slowly(queue, tick)
    await queue.enqueue(NewJob(kind="mail", key="k"))
    await _slowly(queue, tick)
    await tick()
    runner = await register()
    assert len((await runner.step(1)).jobs) == 1


async def test_a_lane_that_a_dead_letter_needs_stays(queue: Queue, register: Register, tick: Tick) -> None:
    made = await queue.enqueue("mail")
    runner = await register(lease=LONG)
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "boom")])
    await queue.database.value(OLD.format("lane"))
    await _slowly(queue, tick)
    await _slowly(queue, tick)
    assert await queue.redrive([made.id]) == [made.id]
    assert len((await runner.step(1)).jobs) == 1


async def test_housekeeping_happens_at_most_ten_times_a_second(queue: Queue) -> None:
    await queue.database.value("UPDATE paceline.tick SET next_at = '-infinity'")
    before = await queue.database.value("SELECT clock_timestamp()")
    assert await queue.tick()
    assert await queue.database.value("SELECT next_at FROM paceline.tick") - before >= timedelta(seconds=0.1)
    await queue.database.value("UPDATE paceline.tick SET next_at = clock_timestamp() + interval '1 minute'")
    assert not await queue.tick()


async def test_a_fault_in_the_housekeeping_does_not_fail_a_step(queue: Queue, register: Register) -> None:
    made = await queue.enqueue("mail")
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await queue.database.value("ALTER TABLE paceline.knock RENAME TO gone")
    await queue.database.value("UPDATE paceline.tick SET next_at = '-infinity'")
    step = await runner.step(1, [Finished(job)])
    assert (step.verdict, step.refused) == ("ok", frozenset())
    assert await queue.database.value("SELECT count(*) FROM paceline.history WHERE id = $1", made.id) == 1


async def test_with_nobody_alive_the_operators_call_alone_makes_every_kind_of_waiting_job_claimable(
    queue: Queue, register: Register, login: Login, expire_lease: Expire
) -> None:
    """Delayed, keyed, retried, lost and from cron: a group at zero must wake for each of them."""
    database = queue.database
    names = ["retried", "lost"]
    await queue.enqueue_many([NewJob(kind="mail", payload=name) for name in names])
    runner = await register()
    retried, _ = (await runner.step(2)).jobs
    await runner.fail([Failed(retried, "once more", timedelta(milliseconds=1))])
    await expire_lease(runner)
    await queue.enqueue(NewJob(kind="mail", payload="delayed", delay=timedelta(milliseconds=1)))
    await queue.enqueue(NewJob(kind="mail", payload="keyed", key="k"))
    await Cron(database, "builds").put(
        CronEntry(name="each", schedule="0 0 1 1 *", job=NewJob(kind="mail", payload="cron"))
    )
    await database.value("UPDATE paceline.cron SET next_at = date_trunc('year', clock_timestamp(), 'UTC')")
    operator = Queue(await login("operator"), "builds")

    async def all_are_ready() -> bool:
        await operator.tick()
        return bool(await database.value("SELECT count(*) = 5 FROM paceline.job WHERE state = 'r'"))

    async with asyncio.timeout(50):
        while not await all_are_ready():  # noqa: ASYNC110 -- nobody tells; housekeeping is due ten times a second
            await asyncio.sleep(0.1)
    payloads = await database.value("SELECT array_agg(payload ->> 0 ORDER BY payload) FROM paceline.job")
    assert payloads == ["cron", "delayed", "keyed", "lost", "retried"]
    (group,) = await Reader(operator.database).snapshot()
    assert (group.ready, group.running) == (5, 0)
