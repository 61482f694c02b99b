"""How pools stood: one sample in ten seconds whoever ticks, for a day, of pools in which something is."""

import asyncio
from datetime import timedelta

import pytest

from paceline.claims import Failed, Finished
from paceline.database import Database
from paceline.errors import NotAllowedError
from paceline.job import NewJob
from paceline.queue import Queue
from paceline.series import list_samples
from support.pg import Login, Register, Tick

HOUR = timedelta(hours=1)
NEVER = "UPDATE paceline.tick SET sampled_at = 'infinity'"
NOW = "UPDATE paceline.tick SET sampled_at = '-infinity'"
DUE = "UPDATE paceline.tick SET sampled_at = sampled_at - interval '10 seconds'"
NEXT = "UPDATE paceline.flow SET at = at + interval '1 minute' WHERE at = (SELECT max(at) FROM paceline.flow)"
JUST_BEFORE = """
UPDATE paceline.flow f SET at = t.sampled_at - interval '0.5 seconds' FROM paceline.tick t WHERE f.at > t.sampled_at"""
TAKEN = "SELECT count(*) FROM paceline.pool_sample"
OLD = """
INSERT INTO paceline.pool_sample (pool, taken_at, seconds, ready, scheduled, blocked, running, dead, busy, idle,
                                  draining, done, failed)
SELECT p.id, clock_timestamp() - interval '24 hours' - n * interval '10 seconds', 10, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0
  FROM paceline.pool p, generate_series(1, $1::integer) n"""


async def test_it_says_what_waits_who_works_and_what_came_of_it(queue: Queue, register: Register, tick: Tick) -> None:
    await queue.database.value(NEVER)  # a step does the housekeeping too
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(6)])
    await queue.enqueue(NewJob(kind="mail", delay=HOUR))
    busy, _ = await register("r1"), await register("r2")
    done, failed, *_ = (await busy.step(4)).jobs
    await busy.step(0, [Finished(done)])
    await busy.fail([Failed(failed, "no")])
    await queue.database.value("UPDATE paceline.flow SET at = at - interval '2 seconds'")
    await queue.database.value("UPDATE paceline.job SET ready_at = ready_at - interval '60 seconds' WHERE state = 'r'")
    await queue.database.value(NOW)
    await tick()
    (sample,) = await list_samples(queue.database, "builds", HOUR)
    assert (sample.ready, sample.scheduled, sample.blocked, sample.running, sample.dead) == (2, 1, 0, 2, 1)
    assert (sample.busy, sample.idle, sample.draining, sample.desired) == (1, 1, 0, None)
    assert (sample.done, sample.failed) == (1, 1)
    assert sample.oldest_seconds is not None
    assert 60 <= sample.oldest_seconds < 120


async def test_nothing_is_counted_twice_or_left_out(queue: Queue, register: Register, tick: Tick) -> None:
    """What ended in the last second may not have been seen: it is the next sample's."""
    await queue.database.value(NEVER)
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(2)])
    runner = await register()
    first, second = (await runner.step(2)).jobs
    await runner.step(0, [Finished(first)])
    await queue.database.value("UPDATE paceline.flow SET at = at - interval '2 seconds'")
    await runner.step(0, [Finished(second)])
    await queue.database.value(NEXT)
    await queue.database.value(NOW)
    await tick()
    await queue.database.value(JUST_BEFORE)
    await queue.database.value(DUE)
    await queue.database.value("UPDATE paceline.flow SET at = at - interval '10 seconds'")
    await queue.database.value("UPDATE paceline.pool_sample SET taken_at = taken_at - interval '10 seconds'")
    await tick()
    assert [sample.done for sample in await list_samples(queue.database, "builds", HOUR)] == [1, 1]


async def test_there_is_one_in_ten_seconds_however_many_tick(queue: Queue, tick: Tick) -> None:
    await queue.enqueue("mail")
    for _ in range(3):
        await tick()
    assert await queue.database.value(TAKEN) == 1
    await queue.database.value(f"{DUE}, next_at = '-infinity'")
    await asyncio.gather(*(queue.database.value("SELECT paceline.tick()") for _ in range(10)))
    assert await queue.database.value(TAKEN) == 2


async def test_who_has_no_housekeeping_to_do_takes_none(queue: Queue) -> None:
    await queue.enqueue("mail")
    await queue.database.value(f"{NOW}, next_at = 'infinity'")
    assert await queue.database.value("SELECT paceline.tick()") is False
    assert await queue.database.value(TAKEN) == 0


async def test_a_clock_that_was_put_back_does_not_stop_them(queue: Queue, tick: Tick) -> None:
    await queue.enqueue("mail")
    await queue.database.value("UPDATE paceline.tick SET sampled_at = clock_timestamp() + interval '1 day'")
    await tick()
    (sample,) = await list_samples(queue.database, "builds", HOUR)
    assert sample.seconds == 10


async def test_they_are_kept_for_a_day_and_deleted_in_portions(queue: Queue, tick: Tick) -> None:
    await queue.enqueue("mail")
    await queue.database.value(OLD, 250)
    for left in (150, 50, 0):
        await queue.database.value(f"{DUE}, next_at = '-infinity'")
        await tick()
        assert await queue.database.value(f"{TAKEN} WHERE taken_at < clock_timestamp() - interval '1 day'") == left
    assert await queue.database.value(TAKEN) == 3


async def test_a_pool_at_rest_has_none(queue: Queue, register: Register, tick: Tick) -> None:
    runner = await register()
    await tick()
    assert await queue.database.value(TAKEN) == 1, "somebody waits for work"
    await runner.deregister()
    await queue.database.value(DUE)
    await tick()
    assert await queue.database.value(TAKEN) == 1


async def test_a_sample_that_fails_does_not_hold_up_the_housekeeping(queue: Queue, tick: Tick) -> None:
    job = await queue.enqueue(NewJob(kind="mail", delay=timedelta(milliseconds=1)))
    await queue.database.value("ALTER TABLE paceline.pool_sample RENAME TO elsewhere")
    await asyncio.sleep(0.01)
    await tick()
    assert await queue.database.value("SELECT state::text FROM paceline.job WHERE id = $1", job.id) == "r"


async def test_long_spans_are_told_in_few_points_with_their_peaks(queue: Queue) -> None:
    await queue.enqueue("mail")
    await queue.database.value(OLD, 8000)
    await queue.database.value(
        "UPDATE paceline.pool_sample SET taken_at = taken_at + interval '24 hours', "
        "ready = CASE WHEN taken_at = (SELECT max(taken_at) FROM paceline.pool_sample) THEN 777 ELSE 1 END"
    )
    found = await list_samples(queue.database, "builds", timedelta(hours=22), points=100)
    assert 90 <= len(found) <= 101
    assert max(each.ready for each in found) == 777
    stretch = 80  # samples; the last one may not be over
    assert 22 * 360 - stretch - 2 <= sum(each.done or 0 for each in found) <= 22 * 360 + 2
    assert sum(each.seconds for each in found) == pytest.approx(22 * 3600, abs=20)
    assert [each.at for each in found] == sorted(each.at for each in found)


async def test_what_is_not_over_yet_is_not_counted(queue: Queue) -> None:
    """Stretches of a day are of four minutes; in that of an hour ahead no others can have come."""
    await queue.enqueue("mail")
    await queue.database.value(OLD, 2)
    await queue.database.value(
        "UPDATE paceline.pool_sample SET failed = 2, taken_at = clock_timestamp() + CASE WHEN taken_at = "
        "(SELECT max(taken_at) FROM paceline.pool_sample) THEN interval '1 hour' ELSE interval '-10 minutes' END"
    )
    past, ahead = await list_samples(queue.database, "builds", timedelta(days=1))
    assert (past.done, past.failed, past.ready) == (1, 2, 1)
    assert (ahead.done, ahead.failed, ahead.ready) == (None, None, 1)
    assert [each.done for each in await list_samples(queue.database, "builds", HOUR)] == [1, 1], "a sample is whole"


async def test_the_more_pools_there_are_the_sooner_counts_end(queue: Queue, tick: Tick) -> None:
    await queue.database.value("INSERT INTO paceline.pool (name) SELECT 'p' || n FROM generate_series(1, 200) n")
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(1500)])
    await tick()
    assert [each.ready for each in await list_samples(queue.database, "builds", HOUR)] == [1000]


async def test_only_pools_that_may_be_read_are_shown(
    database: Database, queue: Queue, login: Login, tick: Tick
) -> None:
    await queue.enqueue("mail")
    await Queue(database, "other").enqueue("mail")
    await tick()
    reader = await login("reader", "builds")
    assert len(await list_samples(reader, "builds", HOUR)) == 1
    with pytest.raises(NotAllowedError):
        await list_samples(reader, "other", HOUR)
