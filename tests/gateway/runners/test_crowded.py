"""Many runners that register at once: those that work are heard, and whoever cannot be served soon is told."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from gateway.conftest import Client, Site, until
from gateway.runners.client import HELLO, opened
from paceline.database import Database
from paceline.job import NewJob
from paceline.queue import Queue

GROUPS = "SELECT FROM paceline.runner_group FOR UPDATE"
"""A registration waits for whoever has this."""
JOBS = "SELECT FROM paceline.job FOR UPDATE"
"""A report waits for whoever has this."""
WAITING = """
SELECT count(*) FROM pg_stat_activity
 WHERE wait_event_type = 'Lock' AND query ~ 'paceline.(dial|complete)\\(' AND datname = current_database()"""

PATIENCE = 60
pytestmark = pytest.mark.timeout(2 * PATIENCE)


@pytest.fixture
async def narrow(site: Site, monkeypatch: pytest.MonkeyPatch) -> str:
    """A gateway where two register at a time, and two connections are for others; a statement may take its time."""
    monkeypatch.setattr("paceline_gateway.services.ANSWER_SECONDS", 2.0 * PATIENCE)
    return await site.start(connections=4)


@contextlib.asynccontextmanager
async def holding(database: Database, what: str) -> AsyncIterator[asyncio.TaskGroup]:
    """Who needs it has to wait. The block ends in any case, and the tasks with it: else the database never closes."""
    async with asyncio.TaskGroup() as tasks, database.connection() as holder, holder.transaction():
        await holder.execute(what)
        async with asyncio.timeout(PATIENCE):
            yield tasks


async def newcomer(site: Site, address: str, name: str) -> Client:
    return await site.client(address, await site.tokens.create("rk", pool="builds", runner=name))


async def register(client: Client, slots: int = 1) -> httpx.Response:
    return await client.post("/runner/register", json={"kinds": ["*"], "slots": slots})


async def test_some_at_a_time_register_and_those_who_work_are_heard(
    site: Site, narrow: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = await newcomer(site, narrow, "working")
    me = (await register(working)).json()["incarnation"]
    monkeypatch.setattr("paceline_gateway.turnstile.PATIENCE_SECONDS", 0.5)
    crowd = [await newcomer(site, narrow, f"r{number}") for number in range(6)]
    async with holding(database, GROUPS) as coming:
        answering = [coming.create_task(register(each)) for each in crowd]

        async def told() -> bool:
            done, waiting = sum(each.done() for each in answering), await database.value(WAITING)
            assert done <= 4, "one of two who may wait does not"
            assert waiting <= 2, "more wait than may"
            return done == 4 and bool(waiting == 2)

        await until(told)
        assert (await working.post("/runner/heartbeat", json={"incarnation": me})).json()["verdict"] == "ok"
    answers = [each.result() for each in answering]
    refused = [answer for answer in answers if answer.status_code != 200]
    assert [(answer.status_code, answer.json()["error"]) for answer in refused] == [(503, "busy")] * 4
    assert all(2 <= int(answer.headers["retry-after"]) <= 10 for answer in refused)
    for each in crowd:
        assert (await register(each)).status_code == 200


async def test_a_socket_is_told_to_come_later(
    site: Site, narrow: str, database: Database, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = [await newcomer(site, narrow, f"r{number}") for number in range(2)]
    assert (await register(crowd[0])).status_code == 200
    monkeypatch.setattr("paceline_gateway.turnstile.PATIENCE_SECONDS", 0.5)
    async with holding(database, GROUPS) as coming:
        answering = [coming.create_task(register(each)) for each in crowd]
        await until(lambda: database.value(f"SELECT ({WAITING}) = 2"))
        async with opened(narrow, token) as socket:
            await socket.connection.send(json.dumps(HELLO))
            assert (await socket.any())["error"] == "busy"
            assert await socket.closed() == 1013
    assert [each.result().status_code for each in answering] == [200, 200]


async def test_whoever_waits_for_work_does_not_stand_behind_those_who_report(
    site: Site, narrow: str, database: Database, queue: Queue
) -> None:
    busy, idle = [await newcomer(site, narrow, name) for name in ("busy", "idle")]
    me, other = [(await register(each, slots=6)).json()["incarnation"] for each in (busy, idle)]
    await queue.enqueue_many([NewJob(kind="mail")] * 6)
    runs = (await busy.get("/runner/runs", params={"incarnation": me, "want": 6})).json()["runs"]
    async with holding(database, JOBS) as coming:
        reports = [
            coming.create_task(
                busy.post(f"/runner/runs/{run['id']}/complete", json={"incarnation": me, "fence": run["fence"]})
            )
            for run in runs
        ]
        await until(lambda: database.value(f"SELECT ({WAITING}) >= 2"))
        made = await queue.enqueue("mail")
        poll = coming.create_task(idle.get("/runner/runs", params={"incarnation": other}))

        async def served() -> bool:
            assert await database.value(WAITING) <= 2, "others have no connection"
            return poll.done()

        await until(served)
    assert [run["id"] for run in poll.result().json()["runs"]] == [made.id]
    assert [each.result().status_code for each in reports] == [200] * 6
