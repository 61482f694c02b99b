"""Runners by long poll: woken at once, held to their fences, and found out when they do not confirm."""

import asyncio

import pytest

from gateway.conftest import Client, Registered, Site, state, until
from paceline.queue import Queue
from paceline.reading import Reader


async def test_a_waiting_poll_gets_the_job_and_its_result_counts(
    runner: Client, register: Registered, queue: Queue
) -> None:
    me = await register()
    poll = asyncio.create_task(runner.get("/runner/runs", params={"incarnation": me, "want": 2}))
    await until(lambda: queue.database.value("SELECT count(*) FROM paceline.waiter"))
    made = await queue.enqueue("mail", {"to": "ada"})
    (run,) = (await poll).json()["runs"]
    assert (run["id"], run["kind"], run["payload"]) == (made.id, "mail", {"to": "ada"})
    about = {"incarnation": me, "fence": run["fence"]}
    assert (await runner.post(f"/runner/runs/{made.id}/log", json={**about, "text": "half\n"})).status_code == 200
    done = await runner.post(f"/runner/runs/{made.id}/complete", json={**about, "result": [1]})
    assert done.json() == {"accepted": True}
    seen = await Reader(queue.database).job_detail(made.id)
    assert seen is not None
    assert (seen.state, seen.result, seen.runner) == ("done", [1], "laptop")
    assert [each.output for each in await Reader(queue.database).job_attempts(made.id)] == ["half\n"]
    again = await runner.post(f"/runner/runs/{made.id}/complete", json={**about, "result": [2]})
    assert (again.status_code, again.json()["error"]) == (409, "not_yours")


async def test_a_poll_at_another_gateway_is_woken_too(
    site: Site, runner: Client, register: Registered, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline_gateway.runners.hub.HEARING_SECONDS", 3600.0)  # it does not look by itself
    me = await register()
    other = await site.start()
    elsewhere = await site.client(other, runner.headers["authorization"].removeprefix("Bearer "))
    poll = asyncio.create_task(elsewhere.get("/runner/runs", params={"incarnation": me}))
    producer = await site.client(str(runner.base_url), await site.tokens.create("pk", pool="builds"))
    await until(lambda: queue.database.value("SELECT count(*) FROM paceline.waiter"))  # it listens, and has looked
    made = (await producer.post("/v1/jobs", json={"kind": "mail"})).json()["id"]
    async with asyncio.timeout(20):
        assert [each["id"] for each in (await poll).json()["runs"]] == [made]


async def test_a_run_that_nobody_confirms_goes_back_and_one_that_is_named_stays(
    runner: Client, register: Registered, queue: Queue
) -> None:
    for _ in range(2):
        await queue.enqueue("mail")
    me = await register()
    first, second = (await runner.get("/runner/runs", params={"incarnation": me, "want": 2})).json()["runs"]
    beat = await runner.post("/runner/heartbeat", json={"incarnation": me, "runs": [[first["id"], first["fence"]]]})
    assert beat.json()["verdict"] == "ok"
    await queue.database.value("UPDATE paceline.offer SET until = clock_timestamp()")

    async def back() -> bool:
        return await state(queue, second["id"]) == "ready"

    await until(back)
    assert await state(queue, first["id"]) == "running"
    beat = await runner.post("/runner/heartbeat", json={"incarnation": me, "runs": [[second["id"], second["fence"]]]})
    assert beat.json()["refused"] == [second["id"]]


async def test_a_drain_ends_the_poll_and_a_cancel_is_told(runner: Client, register: Registered, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    me = await register()
    (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    poll = asyncio.create_task(runner.get("/runner/runs", params={"incarnation": me, "want": 1}))
    await queue.cancel(made.id)
    assert (await poll).json()["cancelled"] == [made.id]
    over = {"incarnation": me, "fence": run["fence"], "error": "cancelled", "cause": "Cancelled"}
    assert (await runner.post(f"/runner/runs/{made.id}/fail", json=over)).status_code == 200  # else it is told again
    poll = asyncio.create_task(runner.get("/runner/runs", params={"incarnation": me, "want": 0}))
    await queue.database.value("SELECT paceline.drain($1)", me)
    assert (await poll).json()["verdict"] == "draining"


async def test_a_registration_of_another_token_is_nobodys(site: Site, address: str, register: Registered) -> None:
    me = await register()
    thief = await site.client(address, await site.tokens.create("rk", pool="builds", runner="thief"))
    for answer in (
        await thief.get("/runner/runs", params={"incarnation": me}),
        await thief.post("/runner/heartbeat", json={"incarnation": me}),
        await thief.post("/runner/deregister", json={"incarnation": me}),
    ):
        assert answer.status_code == 404


async def test_a_revoked_token_ends_its_registration_and_is_refused_at_once(
    site: Site, runner: Client, register: Registered, queue: Queue
) -> None:
    made = await queue.enqueue("mail")
    me = await register()
    await runner.get("/runner/runs", params={"incarnation": me})
    assert await site.tokens.revoke(runner.headers["authorization"].split("_")[1])
    assert await state(queue, made.id) == "ready"
    # the gateway hears of it a moment after the commit; nothing can be done with the registration any more
    answer = await runner.post("/runner/heartbeat", json={"incarnation": me})
    assert answer.status_code == 401 or answer.json()["verdict"] == "fenced"

    async def is_refused() -> bool:
        return (await runner.post("/runner/heartbeat", json={"incarnation": me})).status_code == 401

    await until(is_refused)
    assert await queue.database.value("SELECT cause FROM paceline.incarnation WHERE id = $1", me) == "Revoked"


async def test_a_slow_heart_gets_a_long_lease(runner: Client) -> None:
    answer = await runner.post("/runner/register", json={"kinds": ["*"], "heartbeat_seconds": 60})
    assert answer.json()["lease_seconds"] == 150


async def test_a_token_says_whom_it_is_for_and_nothing_is_registered(
    site: Site, address: str, runner: Client, register: Registered, queue: Queue
) -> None:
    me = await register()
    pool_alone = {"runner": "laptop", "pool": "builds", "namespace": "", "group": None}
    assert (await runner.get("/runner/me")).json() == pool_alone
    assert await queue.database.value("SELECT max(id) FROM paceline.incarnation WHERE state <> 'z'") == me
    await queue.database.value("SELECT paceline.put_group('main', 'ci', 'builds', 'builds')")
    token = await site.tokens.create("rk", group="builds", namespace="ci", runner="desk")
    other = await site.client(address, token)
    of_a_group = {"runner": "desk", "pool": "builds", "namespace": "ci", "group": "builds"}
    assert (await other.get("/runner/me")).json() == of_a_group


async def test_a_failure_says_of_what_kind_it_is(runner: Client, register: Registered, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    me = await register()
    (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    about = {"incarnation": me, "fence": run["fence"], "error": "too slow", "final": True}
    path = f"/runner/runs/{made.id}/fail"
    assert (await runner.post(path, json={**about, "cause": "Poison"})).status_code == 422
    assert (await runner.post(path, json={**about, "cause": "TimedOut"})).status_code == 200
    dead = await Reader(queue.database).job_detail(made.id)
    assert dead is not None
    assert (dead.state, dead.cause, dead.error) == ("dead", "TimedOut", "too slow")
