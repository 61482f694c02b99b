"""Promise 6: a rate limit never lets more than burst + rate x t through in any t."""

import asyncio
import time

import pytest

from paceline.claims import Finished, Incarnation
from paceline.errors import InvalidInputError
from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import Register, Tick

LIMITS = {
    "pool": "SELECT paceline.set_pool('builds', p_rate => $1, p_burst => $2)",
    "kind": "SELECT paceline.set_kind('builds', 'mail', $1, $2)",
    "key": "SELECT paceline.set_key('builds', 'k', NULL, $1, $2)",
}
LATER = {
    "pool": "UPDATE paceline.pool SET refilled = refilled - interval '100 seconds'",
    "kind": "UPDATE paceline.kind SET refilled = refilled - interval '100 seconds'",
    "key": "UPDATE paceline.key SET refilled = refilled - interval '100 seconds'",
}


@pytest.mark.parametrize("limit", LIMITS)
async def test_a_burst_then_only_what_time_brings(queue: Queue, register: Register, tick: Tick, limit: str) -> None:
    await queue.database.value(LIMITS[limit], 0.02, 5.0)
    await queue.enqueue_many([NewJob(kind="mail", key="k" if limit == "key" else None) for _ in range(30)])
    runner = await register()
    await tick()
    assert len((await runner.step(50)).jobs) == 5
    await tick()
    assert len((await runner.step(50)).jobs) == 0
    await queue.database.value(LATER[limit])
    await tick()
    assert len((await runner.step(50)).jobs) == 2


@pytest.mark.parametrize("limit", LIMITS)
async def test_an_idle_bucket_holds_no_more_than_its_burst(
    queue: Queue, register: Register, tick: Tick, limit: str
) -> None:
    await queue.database.value(LIMITS[limit], 100.0, 3.0)
    await queue.enqueue_many([NewJob(kind="mail", key="k" if limit == "key" else None) for _ in range(30)])
    runner = await register()
    for _ in range(5):
        await queue.database.value(LATER[limit])
        await tick()
    assert len((await runner.step(50)).jobs) == 3


@pytest.mark.parametrize("limit", LIMITS)
async def test_many_claimers_together_stay_below_the_rate(
    queue: Queue, register: Register, tick: Tick, limit: str
) -> None:
    rate, burst, seconds = 100.0, 10.0, 1.0
    await queue.database.value(LIMITS[limit], rate, burst)
    await queue.enqueue_many([NewJob(kind="mail", key="k" if limit == "key" else None) for _ in range(400)])
    runners = [await register(f"r{number}") for number in range(4)]
    await tick()
    claimed: list[float] = []
    started = time.monotonic()

    async def work(runner: Incarnation) -> None:
        done: list[Finished] = []
        while time.monotonic() - started < seconds or len(claimed) <= burst:
            step = await runner.step(3, done)
            claimed.extend([time.monotonic()] * len(step.jobs))
            done = [Finished(job) for job in step.jobs]

    await asyncio.gather(*map(work, runners))
    passed = time.monotonic() - started
    assert burst < len(claimed) <= burst + rate * passed


async def test_no_more_jobs_of_a_key_are_ready_than_its_bucket_holds(queue: Queue, tick: Tick) -> None:
    await queue.database.value(LIMITS["key"], 1.0, 4.0)
    await queue.enqueue_many([NewJob(kind="mail", key="k") for _ in range(30)])
    for _ in range(3):
        await queue.database.value(LATER["key"])
        await tick()
    assert await queue.database.value("SELECT count(*) FROM paceline.job WHERE state = 'r'") == 4


async def test_a_limit_that_is_taken_away_limits_nothing(queue: Queue, register: Register) -> None:
    await queue.database.value(LIMITS["kind"], 1.0, 1.0)
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(9)])
    runner = await register()
    assert len((await runner.step(50)).jobs) == 1
    await queue.database.value(LIMITS["kind"], -5.0, None)
    assert len((await runner.step(50)).jobs) == 8


async def test_a_negative_rate_of_a_new_kind_is_no_limit(queue: Queue, register: Register) -> None:
    await queue.database.value(LIMITS["kind"], -5.0, None)
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(9)])
    assert len((await (await register()).step(50)).jobs) == 9


@pytest.mark.parametrize("call", ["set_pool('builds', p_rate => 0.1)", "set_kind('builds', 'mail', 0.1)"])
async def test_a_rate_below_one_lets_the_first_job_through(queue: Queue, register: Register, call: str) -> None:
    """A bucket that holds less than one permit would never give one."""
    await queue.enqueue_many([NewJob(kind="mail")] * 2)
    await queue.database.value(f"SELECT paceline.{call}")
    assert len((await (await register()).step(9)).jobs) == 1


async def test_a_rate_below_one_of_a_key_lets_the_first_job_through(
    queue: Queue, register: Register, tick: Tick
) -> None:
    await queue.database.value("SELECT paceline.set_key('builds', 'k', 9, 0.1)")
    await queue.enqueue_many([NewJob(kind="mail", key="k")] * 2)
    await tick()
    assert len((await (await register()).step(9)).jobs) == 1


@pytest.mark.parametrize(("rate", "burst"), [("NaN", None), ("Infinity", None), (1, 0.5), (1, "NaN"), (2e9, None)])
async def test_a_rate_that_no_bucket_can_hold_is_refused_and_nothing_changes(
    queue: Queue, rate: float | str, burst: float | str | None
) -> None:
    for call in (
        "set_pool('builds', p_rate => $1, p_burst => $2)",
        "set_kind('builds', 'mail', $1, $2)",
        "set_key('builds', 'k', 1, $1, $2)",
    ):
        with pytest.raises(InvalidInputError, match="is out of range: give a rate of at most 1e9"):
            await queue.database.value(f"SELECT paceline.{call}", float(rate), None if burst is None else float(burst))
    assert await queue.database.value("SELECT count(*) FROM paceline.key") == 0


async def test_a_pools_burst_is_changed_and_its_rate_stays(queue: Queue) -> None:
    await queue.database.value("SELECT paceline.set_pool('builds', p_rate => 5)")
    await queue.database.value("SELECT paceline.set_pool('builds', p_burst => 20)")
    rows = await queue.database.rows("SELECT rate, burst FROM paceline.pool")
    assert tuple(rows[0]) == (5, 20)
    await queue.database.value("SELECT paceline.set_pool('builds', p_paused => true)")
    rows = await queue.database.rows("SELECT rate, burst FROM paceline.pool")
    assert tuple(rows[0]) == (5, 20)
