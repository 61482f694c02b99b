"""Calls over processes that are killed: a gateway, the runner, the database; and callers who hang up."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from gateway.calls.conftest import SOON, Called, GatewayProcess, Serve
from gateway.conftest import state, until
from paceline.database import Database
from paceline.migrate import migrate
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.testing import PostgresServer
from paceline.tokens import Tokens
from paceline_gateway.serve import GRACE_SECONDS
from paceline_gateway.waiting import LAST_SECONDS
from runner.process import PATIENCE, RunnerProcess, StartRunner, there

KEY = {"Idempotency-Key": "order-7"}
WAIT = {"kind": "wait", "payload": "go", "timeout_seconds": 300}
"""A job that is done when the file `go` is there, or after five minutes."""


async def begun(scratch: Path) -> list[str]:
    """The tries that have begun, one at least."""
    return (await there(scratch / "begun")).splitlines()


async def test_a_runner_answers(serve: Serve, caller: Called, start: StartRunner) -> None:
    await start("r1")
    answer = await (await caller(await serve())).post("/v1/call", json={"kind": "mail", "payload": {"to": "ann"}})
    assert answer.status_code == 200, answer.text
    assert answer.json()["result"]["to"] == "ann"


async def test_a_gateway_is_killed_and_the_caller_gets_the_answer_at_another(
    serve: Serve, caller: Called, start: StartRunner, scratch: Path
) -> None:
    await start("r1")
    killed, other = await serve(), await serve()
    first = asyncio.create_task((await caller(killed)).post("/v1/call", json=WAIT, headers=KEY))
    await begun(scratch)
    killed.send(signal.SIGKILL)
    with pytest.raises(httpx.TransportError):
        await first
    second = asyncio.create_task((await caller(other)).post("/v1/call", json=WAIT, headers=KEY))
    (scratch / "go").touch()
    answer = (await second).json()
    assert answer["result"] == "seen"
    assert len(await begun(scratch)) == 1
    late = await (await caller(other)).post("/v1/call", json=WAIT, headers=KEY)
    assert late.json() == answer


async def test_a_call_whose_gateway_was_killed_does_not_run_on(
    serve: Serve, caller: Called, start: StartRunner, scratch: Path, queue: Queue
) -> None:
    await start("r1")
    killed = await serve()
    call = asyncio.create_task((await caller(killed)).post("/v1/call", json=WAIT))
    await begun(scratch)
    killed.send(signal.SIGKILL)
    with pytest.raises(httpx.TransportError):
        await call
    await queue.database.value("UPDATE paceline.call SET until = clock_timestamp()")
    job, _ = (await there(scratch / "cancelled")).split()  # the handler was told

    async def over() -> bool:
        return await state(queue, int(job)) in ("cancelled", "dead")

    await until(over)


async def test_a_runner_that_is_killed_is_named(
    serve: Serve, caller: Called, start: StartRunner, scratch: Path
) -> None:
    runner = await start("r1", PACELINE_STALE_THRESHOLD_SECS=SOON)
    call = asyncio.create_task((await caller(await serve())).post("/v1/call", json=WAIT))
    await begun(scratch)
    runner.send(signal.SIGKILL)
    answer = await call
    assert (answer.status_code, answer.json()["error"]) == (502, "runner_failed")
    assert answer.json()["detail"] == "Runner r1 disconnected mid-job"


async def test_with_a_key_another_runner_does_it_when_one_is_killed(
    serve: Serve, caller: Called, start: StartRunner, scratch: Path
) -> None:
    runner = await start("r1", PACELINE_STALE_THRESHOLD_SECS=SOON)
    call = asyncio.create_task((await caller(await serve())).post("/v1/call", json=WAIT, headers=KEY))
    await begun(scratch)
    runner.send(signal.SIGKILL)
    await start("r2")
    (scratch / "go").touch()
    assert (await call).json()["result"] == "seen"


async def test_who_hangs_up_takes_the_job_with_him(
    serve: Serve, caller: Called, start: StartRunner, scratch: Path, queue: Queue
) -> None:
    await start("r1")
    call = asyncio.create_task((await caller(await serve())).post("/v1/call", json=WAIT))
    await begun(scratch)
    call.cancel()
    job, _ = (await there(scratch / "cancelled")).split()

    async def cancelled() -> bool:
        return await state(queue, int(job)) == "cancelled"

    await until(cancelled)


async def test_who_hangs_up_with_a_key_may_come_back(
    serve: Serve, caller: Called, start: StartRunner, scratch: Path, queue: Queue
) -> None:
    await start("r1")
    gateway = await serve()
    client = await caller(gateway)
    call = asyncio.create_task(client.post("/v1/call", json=WAIT, headers=KEY))
    await begun(scratch)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)

    async def noticed() -> bool:
        return 'code="499"' in (await client.get("/metrics")).text

    await until(noticed)
    (job,) = await Reader(queue.database).list_jobs("builds")
    assert (job.state, job.cancelling) == ("running", False)
    again = asyncio.create_task(client.post("/v1/call", json=WAIT, headers=KEY))
    (scratch / "go").touch()
    assert (await again).json()["result"] == "seen"
    assert len(await begun(scratch)) == 1
    assert not (scratch / "cancelled").exists()


@contextlib.asynccontextmanager
async def bounded() -> AsyncIterator[asyncio.TaskGroup]:
    """Calls of a gateway that may never answer: the block ends in any case, and they with it."""
    async with asyncio.timeout(2 * PATIENCE), asyncio.TaskGroup() as calls:
        yield calls


@pytest.mark.timeout(4 * PATIENCE)
async def test_a_gateway_that_leaves_sends_callers_with_a_key_away_and_answers_the_others(
    serve: Serve, caller: Called, start: StartRunner, scratch: Path, queue: Queue
) -> None:
    await start("r1")
    leaving, other = await serve(), await serve()
    at = await caller(leaving)
    followed = (await (await caller(other)).post("/v1/jobs", json={**WAIT, "delay_seconds": 3600})).json()["id"]

    async def all_wait() -> bool:
        waiting = await queue.database.value("SELECT count(*) FROM paceline.job WHERE awaited")
        return waiting == 3 and len(await begun(scratch)) == 2

    async with bounded() as calls:
        keyed = calls.create_task(at.post("/v1/call", json=WAIT, headers=KEY))
        plain = calls.create_task(at.post("/v1/call", json=WAIT))
        follower = calls.create_task(at.get(f"/v1/jobs/{followed}", params={"wait": 300}))
        await until(all_wait)
        leaving.send(signal.SIGTERM)
        sent_away = await keyed
        assert (sent_away.status_code, sent_away.json()["error"]) == (503, "leaving")
        assert sent_away.headers["retry-after"]
        again = calls.create_task((await caller(other)).post("/v1/call", json=WAIT, headers=KEY))
        (scratch / "go").touch()
        assert (await follower).json()["state"] == "scheduled"
        assert [(await each).json()["result"] for each in (plain, again)] == ["seen", "seen"]
    assert await leaving.ended() == 0


@pytest.mark.timeout(4 * PATIENCE)
async def test_a_gateway_that_leaves_does_not_cut_off_a_call_that_takes_longer(
    serve: Serve, caller: Called, start: StartRunner, scratch: Path, queue: Queue
) -> None:
    """It is cancelled before the gateway ends what is left, and its caller is told."""
    assert LAST_SECONDS < GRACE_SECONDS
    await start("r1")
    leaving = await serve()
    at = await caller(leaving)
    async with bounded() as calls:
        call = calls.create_task(at.post("/v1/call", json=WAIT))
        await begun(scratch)
        leaving.send(signal.SIGTERM)
        answer = await call
        job = answer.json()["job"]
        assert (answer.status_code, answer.json()["error"]) == (503, "leaving")
        assert answer.json()["detail"] == f"this gateway closes, and job {job} is cancelled: ask again"
        assert answer.headers["retry-after"]
        assert (await there(scratch / "cancelled")).split()[0] == str(job)

        async def cancelled() -> bool:
            return await state(queue, job) == "cancelled"

        await until(cancelled)


@pytest.mark.timeout(4 * PATIENCE)
async def test_a_call_outlives_a_restart_of_the_database(scratch: Path) -> None:
    server = await asyncio.to_thread(PostgresServer.start)
    try:
        await migrate(server.url)
        async with await Database.open(server.url) as database:
            token = await Tokens(database).create("pk", pool="builds")
        runner = await RunnerProcess.start(server.url, scratch, "r1", PACELINE_STALE_THRESHOLD_SECS="60")
        gateway = await GatewayProcess.serve(server.url)
        try:
            async with gateway.client(token) as client:
                call = asyncio.create_task(client.post("/v1/call", json=WAIT))
                await begun(scratch)
                await asyncio.to_thread(server.halt)
                away = await client.post("/v1/call", json=WAIT)
                assert (away.status_code, away.json()["error"]) == (503, "database")
                await asyncio.to_thread(server.resume)
                (scratch / "go").touch()
                answer = await call
                assert answer.status_code == 200, answer.text
                assert answer.json()["result"] == "seen"
            async with await Database.open(server.url) as database:
                assert not await Reader(database).list_dead("builds")
        finally:
            await runner.end()
            await gateway.end()
    finally:
        await asyncio.to_thread(server.stop)
