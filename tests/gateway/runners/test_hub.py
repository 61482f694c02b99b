"""Many runners at one gateway: whoever can do it gets it, and what they send at the same time goes together."""

import asyncio

import pytest

from gateway.conftest import Client, Registered, Site, until
from gateway.runners.client import pairs
from paceline.job import NewJob
from paceline.queue import Queue

CROWD = 30


async def crowd(site: Site, address: str, number: int, **hello: object) -> list[tuple[Client, int]]:
    """So many runners that are registered."""
    made = []
    for place in range(number):
        client = await site.client(address, await site.tokens.create("rk", pool="builds", runner=f"r{place}"))
        answer = await client.post("/runner/register", json={"kinds": ["mail"], **hello})
        made.append((client, int(answer.json()["incarnation"])))
    return made


async def test_whoever_can_do_it_is_found_among_many_who_cannot(
    site: Site, address: str, runner: Client, register: Registered, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline_gateway.runners.poll.SHORTEST_HOLD", 1.0)  # nobody leaves before there is work
    others = await crowd(site, address, CROWD, slots=100)
    waiting = [
        asyncio.create_task(client.get("/runner/runs", params={"incarnation": number, "want": 100, "wait": 30}))
        for client, number in others
    ]
    me = await register(kinds=["thumb"], slots=100)
    # the most loaded of all, so the last one to be asked
    mine = asyncio.create_task(runner.get("/runner/runs", params={"incarnation": me, "want": 1}))
    await until(lambda: queue.database.value("SELECT count(*) FROM paceline.waiter"))
    made = await queue.enqueue("thumb")
    assert [run["id"] for run in (await mine).json()["runs"]] == [made.id]
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(CROWD * 100)])
    found = [run["id"] for each in waiting for run in (await each).json()["runs"]]
    assert len(set(found)) == len(found) == CROWD * 100, "each has its own"


async def test_heartbeats_that_come_together_confirm_all_that_they_name(
    site: Site, address: str, runner: Client, register: Registered, queue: Queue
) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(12)])
    me = await register(slots=2)
    mine = (await runner.get("/runner/runs", params={"incarnation": me, "want": 2})).json()["runs"]
    sent = [(runner, me, [run]) for run in mine]
    for client, number in await crowd(site, address, 10):
        found = (await client.get("/runner/runs", params={"incarnation": number})).json()["runs"]
        sent.append((client, number, found))
    assert await queue.database.value("SELECT count(*) FROM paceline.offer") == 12
    beats = await asyncio.gather(*(
        client.post("/runner/heartbeat", json={"incarnation": number, "runs": pairs(*runs)})
        for client, number, runs in sent
    ))  # fmt: skip
    assert [beat.json()["verdict"] for beat in beats] == ["ok"] * 12
    assert await queue.database.value("SELECT count(*) FROM paceline.offer") == 0
