"""Callers who wait: the result, or why there is none."""

import asyncio

from gateway.conftest import Client, Registered, state, until
from paceline.queue import Queue
from paceline.reading import Reader


async def taken(runner: Client, me: int) -> dict[str, int]:
    """The next run."""
    (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    return dict(run)


async def test_the_result_is_the_answer(producer: Client, runner: Client, register: Registered) -> None:
    me = await register()
    call = asyncio.create_task(producer.post("/v1/call", json={"kind": "add", "payload": [1, 2]}))
    run = await taken(runner, me)
    await runner.post(
        f"/runner/runs/{run['id']}/complete", json={"incarnation": me, "fence": run["fence"], "result": 3}
    )
    assert (await call).json() == {"id": run["id"], "result": 3}


async def test_a_failure_is_told_and_not_tried_again(
    producer: Client, runner: Client, register: Registered, queue: Queue
) -> None:
    me = await register()
    call = asyncio.create_task(producer.post("/v1/call", json={"kind": "add"}))
    run = await taken(runner, me)
    about = {"incarnation": me, "fence": run["fence"]}
    await runner.post(f"/runner/runs/{run['id']}/fail", json={**about, "error": "no", "retry_in_seconds": 0})
    answer = await call
    assert (answer.status_code, answer.json()["error"], answer.json()["detail"]) == (502, "job_failed", "no")
    assert [each.id for each in await Reader(queue.database).list_dead("builds")] == [run["id"]]


async def test_a_lost_runner_is_told(producer: Client, runner: Client, register: Registered, queue: Queue) -> None:
    me = await register()
    call = asyncio.create_task(producer.post("/v1/call", json={"kind": "add"}))
    await taken(runner, me)
    await queue.database.value("SELECT paceline.fence_incarnation($1, 'OOMKilled')", me)
    answer = await call
    assert (answer.status_code, answer.json()["error"]) == (502, "runner_failed")
    assert answer.json()["detail"] == "Runner laptop disconnected mid-job"


async def test_at_the_deadline_it_is_cancelled(producer: Client, queue: Queue) -> None:
    answer = await producer.post("/v1/call", json={"kind": "add", "timeout_seconds": 0.2})
    assert (answer.status_code, answer.json()["error"]) == (504, "deadline")
    assert await state(queue, answer.json()["job"]) in ("cancelled", "expired")


async def test_a_caller_who_hangs_up_takes_the_job_with_him(producer: Client, queue: Queue) -> None:
    call = asyncio.create_task(producer.post("/v1/call", json={"kind": "add"}))
    await until(lambda: Reader(queue.database).list_jobs("builds"))
    (live,) = await Reader(queue.database).list_jobs("builds")
    call.cancel()

    async def cancelled() -> bool:
        return await state(queue, live.id) == "cancelled"

    await until(cancelled)


async def test_two_calls_with_one_key_are_one_job_with_one_result(
    producer: Client, runner: Client, register: Registered
) -> None:
    me, key = await register(), {"Idempotency-Key": "k"}
    calls = [asyncio.create_task(producer.post("/v1/call", json={"kind": "add"}, headers=key)) for _ in range(2)]
    run = await taken(runner, me)
    await runner.post(
        f"/runner/runs/{run['id']}/complete", json={"incarnation": me, "fence": run["fence"], "result": 3}
    )
    assert [answer.json()["result"] for answer in await asyncio.gather(*calls)] == [3, 3]
    late = await producer.post("/v1/call", json={"kind": "add"}, headers=key)
    assert late.json() == {"id": run["id"], "result": 3}
