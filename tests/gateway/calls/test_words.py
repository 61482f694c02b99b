"""What a caller is told, in each of the ways in which a call can end, and who else it concerns."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from fastapi import Request

from gateway.conftest import Client, Registered, Site, state, until
from paceline.claims import Failed, Finished, Incarnation, Registration
from paceline.job import JobId, NewJob
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.results import Outcome
from paceline_gateway.waiting import patiently

KEY = {"Idempotency-Key": "order-7"}
ADD: dict[str, Any] = {"kind": "add", "payload": [1, 2]}


async def taken(runner: Client, me: int) -> dict[str, Any]:
    """The next run."""
    (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    return dict(run)


async def complete(runner: Client, me: int, run: dict[str, Any], result: object) -> None:
    body = {"incarnation": me, "fence": run["fence"], "result": result}
    assert (await runner.post(f"/runner/runs/{run['id']}/complete", json=body)).status_code == 200


async def live(queue: Queue) -> JobId:
    """The only job, once it is there."""
    await until(lambda: Reader(queue.database).list_jobs("builds"))
    (job,) = await Reader(queue.database).list_jobs("builds")
    return job.id


async def test_it_is_tried_once_and_not_after_its_deadline(producer: Client, queue: Queue) -> None:
    call = asyncio.create_task(producer.post("/v1/call", json={**ADD, "timeout_seconds": 20}))
    seen = await Reader(queue.database).job_detail(await live(queue))
    assert seen is not None
    assert (seen.max_tries, seen.max_losses, seen.timeout_ms) == (1, 0, 20_000)
    assert seen.expires_at is not None
    assert (seen.expires_at - seen.enqueued_at).total_seconds() == 20
    await queue.cancel(seen.id)
    await call


async def test_with_a_key_it_is_tried_as_often_as_any_job(
    producer: Client, runner: Client, register: Registered
) -> None:
    me = await register()
    call = asyncio.create_task(producer.post("/v1/call", json=ADD, headers=KEY))
    run = await taken(runner, me)
    failed = {"incarnation": me, "fence": run["fence"], "error": "not yet", "retry_in_seconds": 0}
    await runner.post(f"/runner/runs/{run['id']}/fail", json=failed)
    again = await taken(runner, me)
    assert (again["id"], again["tries"]) == (run["id"], 1)
    await complete(runner, me, again, 3)
    assert (await call).json() == {"id": run["id"], "result": 3}


@pytest.mark.parametrize("field", ["max_tries", "max_losses"])
async def test_more_tries_need_a_key(producer: Client, queue: Queue, field: str) -> None:
    answer = await producer.post("/v1/call", json={**ADD, field: 3})
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid")
    assert f"{field} of a call needs the header Idempotency-Key" in answer.json()["detail"]
    assert not await Reader(queue.database).list_jobs("builds")


async def test_somebody_cancels_it(producer: Client, queue: Queue) -> None:
    call = asyncio.create_task(producer.post("/v1/call", json=ADD))
    job = await live(queue)
    await queue.cancel(job)
    answer = await call
    assert (answer.status_code, answer.json()["error"], answer.json()["job"]) == (409, "cancelled", job)


async def test_the_housekeeping_may_be_the_first_to_see_that_its_time_is_over(
    producer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late(request: Request, answer: Coroutine[object, object, Outcome], seconds: float, *rest: Any) -> Outcome:
        return await patiently(request, answer, seconds + 3600, *rest)

    monkeypatch.setattr("paceline_gateway.call.patiently", late)
    answer = await producer.post("/v1/call", json={**ADD, "timeout_seconds": 0.5, "expires_in_seconds": 3600})
    assert (answer.status_code, answer.json()["error"]) == (504, "deadline")


async def test_nobody_begins_with_it_in_time(producer: Client) -> None:
    answer = await producer.post("/v1/call", json={**ADD, "expires_in_seconds": 0.1})
    assert (answer.status_code, answer.json()["error"]) == (504, "deadline")
    assert "nobody could begin" in answer.json()["detail"]


async def test_its_try_takes_too_long(producer: Client, queue: Queue) -> None:
    call = asyncio.create_task(producer.post("/v1/call", json=ADD))
    await live(queue)
    runner = await Incarnation.register(queue.database, Registration(name="r1", pool="builds", kinds=("*",)))
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "timed out after 30 s")], "TimedOut")
    answer = await call
    assert (answer.status_code, answer.json()["error"]) == (504, "deadline")


async def test_a_full_pool_is_told(producer: Client, queue: Queue) -> None:
    await queue.database.value("SELECT paceline.set_pool('builds', p_max_depth => 0)")
    answer = await producer.post("/v1/call", json=ADD)
    assert (answer.status_code, answer.json()["error"]) == (429, "pool_full")


@pytest.fixture
def time_is_over(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Whoever waits hears nothing until it is set, and his time is over then; who comes after that waits as usual."""
    over = asyncio.Event()

    async def until_over(request: Request, answer: Coroutine[object, object, Outcome], *rest: Any) -> Outcome:
        if over.is_set():
            return await patiently(request, answer, *rest)
        answer.close()
        await over.wait()
        raise TimeoutError

    monkeypatch.setattr("paceline_gateway.call.patiently", until_over)
    return over


async def test_a_result_that_came_in_the_last_moment_is_the_answer(
    producer: Client, queue: Queue, time_is_over: asyncio.Event
) -> None:
    call = asyncio.create_task(producer.post("/v1/call", json=ADD))
    await live(queue)
    runner = await Incarnation.register(queue.database, Registration(name="r1", pool="builds", kinds=("*",)))
    (held,) = (await runner.step(1)).jobs
    await runner.step(0, [Finished(held, "3")])
    time_is_over.set()
    answer = await call
    assert (answer.status_code, answer.json()["result"]) == (200, 3)


@pytest.mark.parametrize("seconds", [0, -1, 301, "nan", None])
async def test_a_deadline_has_bounds(producer: Client, seconds: object) -> None:
    answer = await producer.post("/v1/call", json={**ADD, "timeout_seconds": seconds})
    assert answer.status_code == 422
    assert "timeout_seconds" in answer.json()["detail"]


async def test_a_key_is_for_one_request_and_one_route(producer: Client, queue: Queue) -> None:
    call = asyncio.create_task(producer.post("/v1/call", json=ADD, headers=KEY))
    job = await live(queue)
    for path, body in (("/v1/call", {"kind": "add"}), ("/v1/jobs", ADD), ("/v1/jobs", {**ADD, "timeout_seconds": 30})):
        answer = await producer.post(path, json=body, headers=KEY)
        assert (answer.status_code, answer.json()["error"]) == (422, "idempotency_mismatch")
    await queue.cancel(job)
    assert (await call).status_code == 409


async def test_the_same_request_may_be_written_in_another_way(producer: Client, queue: Queue) -> None:
    call = asyncio.create_task(producer.post("/v1/call", json=ADD, headers=KEY))
    job = await live(queue)
    await queue.cancel(job)
    other = {"timeout_seconds": 30.0, "payload": [1, 2], "priority": 5, "kind": "add", "pool": "builds"}
    again = await producer.post("/v1/call", json=other, headers=KEY)
    assert (await call).json() == again.json()


async def test_two_wait_with_one_key_and_one_goes(
    site: Site, producer: Client, runner: Client, register: Registered, queue: Queue
) -> None:
    elsewhere = await site.client(await site.start(), await site.tokens.create("pk", pool="builds"))
    me = await register()
    calls = [asyncio.create_task(each.post("/v1/call", json=ADD, headers=KEY)) for each in (producer, elsewhere)]
    run = await taken(runner, me)
    calls[0].cancel()
    await asyncio.gather(calls[0], return_exceptions=True)
    await complete(runner, me, run, 3)
    assert (await calls[1]).json() == {"id": run["id"], "result": 3}


async def test_whose_time_is_over_does_not_take_the_job_from_one_who_waits_longer(
    producer: Client, queue: Queue, time_is_over: asyncio.Event
) -> None:
    first = asyncio.create_task(producer.post("/v1/call", json=ADD, headers=KEY))
    job = await live(queue)
    runner = await Incarnation.register(queue.database, Registration(name="r1", pool="builds", kinds=("*",)))
    (held,) = (await runner.step(1)).jobs
    await queue.database.value("UPDATE paceline.call SET until = until + interval '1 hour'")  # as a later caller would
    time_is_over.set()
    assert (await first).status_code == 504
    assert await state(queue, job) == "running"
    await runner.step(0, [Finished(held, "3")])
    assert (await producer.post("/v1/call", json=ADD, headers=KEY)).json() == {"id": job, "result": 3}


async def test_a_job_that_was_there_before_is_waited_for_and_left_alone(producer: Client, queue: Queue) -> None:
    job = (await queue.enqueue(NewJob(kind="add", dedupe="same"))).id
    answer = await producer.post("/v1/call", json={"kind": "add", "dedupe": "same", "timeout_seconds": 0.3})
    assert (answer.status_code, answer.json()["job"]) == (504, job)
    assert await state(queue, job) == "ready"


async def test_many_callers_get_each_their_own_answer(producer: Client, runner: Client, register: Registered) -> None:
    me = await register(slots=50)
    calls = [asyncio.create_task(producer.post("/v1/call", json={"kind": "add", "payload": n})) for n in range(50)]
    answered = 0
    while answered < 50:
        polled = await runner.get("/runner/runs", params={"incarnation": me, "want": 50})
        for run in polled.json()["runs"]:
            await complete(runner, me, run, run["payload"] * 2)
            answered += 1
    assert [answer.json()["result"] for answer in await asyncio.gather(*calls)] == [2 * n for n in range(50)]
