"""Many runners that register at once: those that work are heard, and whoever cannot be served soon is told."""

import asyncio
import json

import httpx
import pytest

from gateway.conftest import Client, Site, until
from gateway.runners.client import HELLO, opened
from paceline.database import Database

HELD = "SELECT FROM paceline.runner_group FOR UPDATE"
"""A registration waits for whoever has this."""
WAITING = """
SELECT count(*) FROM pg_stat_activity
 WHERE wait_event_type = 'Lock' AND query LIKE '%paceline.dial(%' AND datname = current_database()"""


@pytest.fixture
async def narrow(site: Site) -> str:
    """A gateway where two register at a time, and two connections are for others."""
    return await site.start(connections=4)


async def newcomer(site: Site, address: str, name: str) -> Client:
    return await site.client(address, await site.tokens.create("rk", pool="builds", runner=name))


async def register(client: Client) -> httpx.Response:
    return await client.post("/runner/register", json={"kinds": ["*"]})


async def test_some_at_a_time_register_and_those_who_work_are_heard(
    site: Site, narrow: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = await newcomer(site, narrow, "working")
    me = (await register(working)).json()["incarnation"]
    monkeypatch.setattr("paceline_gateway.turnstile.PATIENCE_SECONDS", 0.5)
    crowd = [await newcomer(site, narrow, f"r{number}") for number in range(6)]
    async with database.connection() as holder, holder.transaction():
        await holder.execute(HELD)
        coming = [asyncio.create_task(register(each)) for each in crowd]

        async def told() -> bool:
            return sum(each.done() for each in coming) == 4

        async with asyncio.timeout(20):  # else all of them wait for the database
            await until(told)
        await until(lambda: database.value(f"SELECT ({WAITING}) = 2"))
        assert (await working.post("/runner/heartbeat", json={"incarnation": me})).json()["verdict"] == "ok"
    answers = await asyncio.gather(*coming)
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
    async with database.connection() as holder, holder.transaction():
        await holder.execute(HELD)
        coming = [asyncio.create_task(register(each)) for each in crowd]
        await until(lambda: database.value(f"SELECT ({WAITING}) = 2"))
        async with opened(narrow, token) as socket:
            await socket.connection.send(json.dumps(HELLO))
            assert (await socket.any())["error"] == "busy"
            assert await socket.closed() == 1013
    assert [(await each).status_code for each in coming] == [200, 200]
