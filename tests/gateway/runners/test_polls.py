"""Long polls: answered by what comes, to those who still listen, in the order that the page of the protocol says."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from gateway.conftest import Client, Registered, Site, state, until
from paceline.job import NewJob
from paceline.queue import Queue
from paceline.reading import Reader

TAINT = "SELECT paceline.taint_runner((SELECT runner FROM paceline.incarnation WHERE id = $1), 'cli', $2, $3, $4)"
WAITING = "SELECT count(*) FROM paceline.waiter WHERE until > clock_timestamp()"


async def waits(queue: Queue) -> None:
    """Until somebody who waits has looked for work."""
    await until(lambda: queue.database.value(WAITING))


def poll(client: Client, incarnation: int, **query: Any) -> "asyncio.Task[httpx.Response]":
    return asyncio.create_task(client.get("/runner/runs", params={"incarnation": incarnation, **query}))


async def test_a_poll_that_does_not_wait_looks_once(
    site: Site, token: str, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline_gateway.runners.hub.PAUSE_SECONDS", 3.0)  # it has to wait for its turn
    runner = await site.client(await site.start(listen_url=f"{site.url}?pgbouncer=1"), token)
    me = (await runner.post("/runner/register", json={"kinds": ["*"]})).json()["incarnation"]
    empty = await runner.get("/runner/runs", params={"incarnation": me, "wait": 0})
    assert empty.json() == {"verdict": "ok", "cancelled": [], "runs": []}
    made = await queue.enqueue("mail")
    found = await runner.get("/runner/runs", params={"incarnation": me, "wait": 0})
    assert [run["id"] for run in found.json()["runs"]] == [made.id]


async def test_a_run_is_told_with_all_that_a_handler_needs(runner: Client, register: Registered, queue: Queue) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    job = NewJob(kind="mail", payload={"to": "ä"}, priority=7, trace=trace, timeout=timedelta(seconds=1.5))
    made = await queue.enqueue(job)
    me = await register()
    (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    assert run.pop("waited_seconds") >= 0
    assert run == {
        "id": made.id, "fence": run["fence"], "kind": "mail", "payload": {"to": "ä"}, "priority": 7, "tries": 0,
        "losses": 0, "timeout_seconds": 1.5, "traceparent": trace,
    }  # fmt: skip


async def test_a_number_that_we_cannot_hold_is_handed_on_as_it_is(
    runner: Client, register: Registered, queue: Queue
) -> None:
    await queue.database.value("SELECT paceline.enqueue('builds', '{mail}', ARRAY['[1e-400]'::jsonb])")
    me = await register()
    answer = await runner.get("/runner/runs", params={"incarnation": me})
    assert f'"payload": [0.{"0" * 399}1]' in answer.text


async def test_no_more_than_a_hundred_come_at_once(runner: Client, register: Registered, queue: Queue) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(120)])
    me = await register(slots=200)
    found = await runner.get("/runner/runs", params={"incarnation": me, "want": 200})
    assert len(found.json()["runs"]) == 100


async def test_a_second_poll_is_answered_and_the_first_ends_empty(
    runner: Client, register: Registered, queue: Queue
) -> None:
    me = await register()
    first = poll(runner, me)
    await waits(queue)
    second = poll(runner, me)
    assert (await first).json() == {"verdict": "ok", "cancelled": [], "runs": []}
    made = await queue.enqueue("mail")
    assert [run["id"] for run in (await second).json()["runs"]] == [made.id]


async def test_a_poll_that_waits_ends_empty_when_a_run_before_it_lapses(
    runner: Client, register: Registered, queue: Queue
) -> None:
    made = await queue.enqueue("mail")
    me = await register()
    (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    waiting = poll(runner, me)
    await waits(queue)
    await queue.database.value("UPDATE paceline.offer SET until = clock_timestamp()")
    assert (await waiting).json() == {"verdict": "ok", "cancelled": [], "runs": []}
    (again,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    assert (again["id"], again["fence"] > run["fence"]) == (made.id, True)


async def test_nothing_is_claimed_for_a_poll_that_has_hung_up(
    site: Site, runner: Client, register: Registered, queue: Queue, address: str
) -> None:
    me = await register()
    hasty = poll(runner, me)
    await waits(queue)
    hasty.cancel()
    await asyncio.gather(hasty, return_exceptions=True)
    other = await site.client(address, await site.tokens.create("rk", pool="builds", runner="other"))
    them = (await other.post("/runner/register", json={"kinds": ["*"]})).json()["incarnation"]

    for _ in range(5):  # by chance the one that has gone would get some of them, and keep them for 30 s
        made = await queue.enqueue("mail")
        (run,) = (await other.get("/runner/runs", params={"incarnation": them, "wait": 10})).json()["runs"]
        assert run["id"] == made.id


async def test_a_pause_lets_nobody_claim_and_its_end_is_told(
    runner: Client, register: Registered, queue: Queue
) -> None:
    await queue.enqueue("mail")
    me = await register()
    await queue.pause()
    found = await runner.get("/runner/runs", params={"incarnation": me, "wait": 0.2})
    assert found.json() == {"verdict": "paused", "cancelled": [], "runs": []}
    waiting = poll(runner, me)
    await waits(queue)
    await queue.resume()
    assert len((await waiting).json()["runs"]) == 1


async def test_a_taint_keeps_work_away_and_its_end_brings_it(
    runner: Client, register: Registered, queue: Queue
) -> None:
    made = await queue.enqueue("mail")
    me = await register()
    await queue.database.value(TAINT, me, ["gpu"], ["bad"], ["NoClaim"])
    waiting = poll(runner, me)
    await waits(queue)
    tolerated = await queue.enqueue(NewJob(kind="mail", tolerations=("gpu",)))
    assert [run["id"] for run in (await waiting).json()["runs"]] == [tolerated.id]
    waiting = poll(runner, me)
    await queue.database.value(TAINT, me, [], [], [])
    assert [run["id"] for run in (await waiting).json()["runs"]] == [made.id]


async def test_a_standby_gets_nothing_until_it_is_promoted(site: Site, address: str, queue: Queue) -> None:
    group = await queue.database.value("SELECT paceline.put_group('', '', 'builds', 'builds', true)")
    clients, numbers = [], []
    for name in ("first", "second"):
        client = await site.client(address, await site.tokens.create("rk", pool="builds", runner=name))
        numbers.append((await client.post("/runner/register", json={"kinds": ["*"]})).json()["incarnation"])
        clients.append(client)
    found = await clients[1].get("/runner/runs", params={"incarnation": numbers[1], "wait": 0.2})
    assert found.json()["verdict"] == "standby"
    waiting = poll(clients[1], numbers[1])
    await waits(queue)
    made = await queue.enqueue("mail")
    second = await queue.database.value("SELECT runner FROM paceline.incarnation WHERE id = $1", numbers[1])
    await queue.database.value("SELECT paceline.promote($1, $2)", group, second)
    assert [run["id"] for run in (await waiting).json()["runs"]] == [made.id]


async def test_who_is_ended_is_told_by_its_poll_and_by_its_heartbeat(
    runner: Client, register: Registered, queue: Queue
) -> None:
    me = await register()
    waiting = poll(runner, me)
    await waits(queue)
    await register()
    assert (await waiting).json()["verdict"] == "fenced"
    beat = (await runner.post("/runner/heartbeat", json={"incarnation": me})).json()
    assert (beat["verdict"], beat["cause"]) == ("fenced", "Replaced")


async def test_a_drain_taint_says_that_there_is_a_hurry(runner: Client, register: Registered, queue: Queue) -> None:
    me = await register()
    await queue.database.value(TAINT, me, ["maint"], [""], ["Drain"])
    beat = (await runner.post("/runner/heartbeat", json={"incarnation": me})).json()
    assert beat == {
        "verdict": "draining", "cancelled": [], "refused": [], "leave": True, "cause": None, "lease_seconds": 30,
    }  # fmt: skip
    again = await runner.post("/runner/register", json={"kinds": ["*"]})
    assert again.json()["state"] == "draining"


async def test_every_report_counts_with_the_fence_of_the_claim_and_only_with_it(
    runner: Client, register: Registered, queue: Queue
) -> None:
    made = await queue.enqueue(NewJob(kind="mail", max_tries=3))
    me = await register()
    (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    reports: list[tuple[str, dict[str, Any]]] = [
        ("progress", {"value": {"half": True}}), ("extend", {"seconds": 60}), ("log", {"text": "half\n"}),
        ("fail", {"error": "bad", "retry_in_seconds": 3600}),
    ]  # fmt: skip
    for what, body in reports:
        path = f"/runner/runs/{made.id}/{what}"
        stale = await runner.post(path, json={"incarnation": me, "fence": run["fence"] - 1, **body})
        assert (stale.status_code, stale.json()["error"]) == (409, "not_yours")
        good = await runner.post(path, json={"incarnation": me, "fence": run["fence"], **body})
        assert good.json() == {"accepted": True}, what
    seen = await Reader(queue.database).job_detail(made.id)
    assert seen is not None
    assert (seen.state, seen.tries) == ("scheduled", 1)
    (attempt,) = await Reader(queue.database).job_attempts(made.id)
    assert (attempt.outcome, attempt.error, attempt.output) == ("failed", "bad", "half\n")


async def test_a_failure_that_does_not_say_when_comes_again_later_each_time(
    runner: Client, register: Registered, queue: Queue
) -> None:
    made = await queue.enqueue("mail")
    me = await register()
    waits_for = []
    for _ in range(2):
        (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
        body = {"incarnation": me, "fence": run["fence"], "error": "bad"}
        assert (await runner.post(f"/runner/runs/{made.id}/fail", json=body)).status_code == 200
        (last, *_) = await Reader(queue.database).job_attempts(made.id)
        assert last.ended_at is not None
        waits_for.append(await queue.database.value("SELECT run_at FROM paceline.job") - last.ended_at)
        assert await queue.retry(made.id) == "retried"
    assert waits_for[1] > waits_for[0]


async def test_what_is_handed_back_is_charged_nothing_and_who_leaves_hands_back_all(
    runner: Client, register: Registered, queue: Queue
) -> None:
    jobs = await queue.enqueue_many([NewJob(kind="mail") for _ in range(2)])
    me = await register()
    first, second = (await runner.get("/runner/runs", params={"incarnation": me, "want": 2})).json()["runs"]
    about = {"incarnation": me, "fence": first["fence"]}
    assert (await runner.post("/runner/drain", json={"incarnation": me})).json() == {"runs": 2}
    assert (await runner.post(f"/runner/runs/{first['id']}/hand-back", json=about)).status_code == 200
    assert (await runner.post("/runner/deregister", json={"incarnation": me})).json() == {"runs": 1}
    assert second["id"] in [each.id for each in jobs]
    for each in jobs:
        assert await state(queue, each.id) == "ready"
    rows = await queue.database.rows("SELECT tries, losses FROM paceline.job")
    assert [tuple(row) for row in rows] == [(0, 0), (0, 0)]


async def test_who_leaves_with_a_cause_loses_what_it_has_and_only_one_cause_is_known(
    runner: Client, register: Registered, queue: Queue
) -> None:
    made = await queue.enqueue("mail")
    me = await register()
    await runner.get("/runner/runs", params={"incarnation": me})
    path = "/runner/deregister"
    assert (await runner.post(path, json={"incarnation": me, "cause": "Evicted"})).status_code == 422
    assert (await runner.post(path, json={"incarnation": me, "cause": "HandlerStuck"})).json() == {"runs": 1}
    (lost,) = await Reader(queue.database).job_attempts(made.id)
    assert (await state(queue, made.id), lost.outcome, lost.cause) == ("ready", "lost", "HandlerStuck")


@pytest.mark.parametrize(
    ("hello", "field"),
    [
        ({}, "kinds"),
        ({"kinds": []}, "kinds"),
        ({"kinds": ["a b"]}, "kinds"),
        ({"kinds": ["*"], "slots": 0}, "slots"),
        ({"kinds": ["*"], "tags": ["-"]}, "tags"),
        ({"kinds": ["*"], "heartbeat_seconds": 61}, "heartbeat_seconds"),
        ({"kinds": ["*"], "heartbeat_seconds": 0.5}, "heartbeat_seconds"),
        ({"kinds": ["*"], "hostname": "x" * 254}, "hostname"),
        ({"kinds": ["*"], "hostname": "\ud800"}, "hostname"),
    ],
)
async def test_a_hello_that_is_wrong_names_the_field(runner: Client, hello: dict[str, Any], field: str) -> None:
    headers = {"content-type": "application/json"}
    answer = await runner.post("/runner/register", content=json.dumps(hello), headers=headers)
    assert answer.status_code == 422
    assert field in answer.json()["detail"]


async def test_a_result_that_cannot_be_kept_is_refused_and_the_run_stays(
    runner: Client, register: Registered, queue: Queue
) -> None:
    made = await queue.enqueue("mail")
    me = await register()
    (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    path, headers = f"/runner/runs/{made.id}/complete", {"content-type": "application/json"}
    for result in ('"\\u0000"', '"\\ud800"', "NaN", '"' + "x" * 2**20 + '"', "[" * 900 + "]" * 900):
        body = f'{{"incarnation": {me}, "fence": {run["fence"]}, "result": {result}}}'
        answer = await runner.post(path, content=body, headers=headers)
        assert answer.status_code in (400, 413, 422), (result[:20], answer.status_code)
    assert await state(queue, made.id) == "running"
