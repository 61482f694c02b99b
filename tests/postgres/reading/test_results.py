"""A caller that waits for a job learns what became of it, or that the time is over."""

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from paceline.claims import Failed, Finished
from paceline.errors import PacelineError
from paceline.job import JobId, NewJob
from paceline.queue import Queue
from paceline.results import NotEndedError, Outcome, outcome, wait
from support.pg import Register, Tick

if TYPE_CHECKING:
    from support.pg import Login

LONG = timedelta(seconds=50)


async def test_a_waiting_caller_gets_the_result(queue: Queue, register: Register) -> None:
    job = (await queue.enqueue("mail")).id
    runner = await register()
    waiting = asyncio.create_task(wait(queue.database, job, LONG))
    (claimed,) = (await runner.step(1)).jobs
    await runner.step(0, [Finished(claimed, '{"sum": [1, 2]}')])
    assert await waiting == Outcome("done", {"sum": [1, 2]})


async def test_every_end_is_told(queue: Queue, register: Register, tick: Tick) -> None:
    runner = await register()
    ids = {kind: (await queue.enqueue(kind)).id for kind in ("done", "dead")}
    jobs = {job.kind: job for job in (await runner.step(2)).jobs}
    await runner.step(0, [Finished(jobs["done"])])
    await runner.fail([Failed(jobs["dead"], "broken")])
    ids["cancelled"] = (await queue.enqueue("mail")).id
    await queue.cancel(ids["cancelled"])
    ids["expired"] = (await queue.enqueue(NewJob(kind="mail", expires_in=timedelta(0)))).id
    await tick()
    found = {kind: await wait(queue.database, job, LONG) for kind, job in ids.items()}
    assert found == {
        "done": Outcome("done"),
        "dead": Outcome("dead", error="broken", cause="Failed"),
        "cancelled": Outcome("cancelled"),
        "expired": Outcome("expired"),
    }


async def test_a_result_is_found_where_history_has_no_partition(queue: Queue, register: Register) -> None:
    job = (await queue.enqueue("mail")).id
    runner = await register()
    (claimed,) = (await runner.step(1)).jobs
    await queue.database.value(
        "UPDATE paceline.tick SET history_until = '-infinity', next_at = clock_timestamp() + interval '1 h'"
    )
    await runner.step(0, [Finished(claimed, "7")])
    assert await queue.database.value("SELECT count(*) FROM paceline.history_late") == 1
    assert await outcome(queue.database, job) == Outcome("done", 7)


async def test_a_redriven_job_is_waited_for_again(queue: Queue, register: Register) -> None:
    job = (await queue.enqueue("mail")).id
    runner = await register()
    await runner.fail([Failed(each, "no") for each in (await runner.step(1)).jobs])
    await queue.redrive([job])
    assert await outcome(queue.database, job) is None
    await runner.step(0, [Finished(each, "1") for each in (await runner.step(1)).jobs])
    assert await wait(queue.database, job, LONG) == Outcome("done", 1)


async def test_when_the_time_is_over_the_error_tells_how_the_job_stands(queue: Queue) -> None:
    job = (await queue.enqueue("mail")).id
    with pytest.raises(NotEndedError, match=f"job {job} is still ready after 0.05 s") as caught:
        await wait(queue.database, job, timedelta(seconds=0.05))
    assert isinstance(caught.value, PacelineError)
    assert isinstance(caught.value, TimeoutError)
    with pytest.raises(NotEndedError, match="there is no job 999999 that this login may read"):
        await wait(queue.database, JobId(999_999), timedelta(0))


async def test_the_pauses_grow_to_half_a_second(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    job = (await queue.enqueue("mail")).id
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 12:
            await queue.cancel(job)

    monkeypatch.setattr("paceline.results.asyncio.sleep", note)
    await wait(queue.database, job, LONG)
    assert pauses[0] == 0.02
    assert pauses == sorted(pauses)
    assert pauses[-1] == 0.5


async def test_the_outcome_of_another_pools_job_is_not_told(queue: Queue, login: "Login") -> None:
    ours, theirs = Queue(queue.database, "ours"), Queue(queue.database, "theirs")
    ids = [(await each.enqueue("mail")).id for each in (ours, theirs)]
    for job in ids:
        await queue.cancel(job)
    opened = await login("producer", "ours")
    assert await outcome(opened, ids[0]) == Outcome("cancelled")
    assert await outcome(opened, ids[1]) is None
