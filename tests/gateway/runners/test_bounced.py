"""Runners at gateways whose database is behind PgBouncer in transaction mode, with a way past it and without."""

import asyncio

import pytest

from gateway.conftest import Site, state
from gateway.runners.client import dialled
from paceline.job import NewJob
from paceline.queue import Queue
from support.bounced import postgres  # noqa: F401 -- it is for the fixtures
from support.bouncer import BouncedServer

WAITING = "SELECT count(*) FROM paceline.waiter WHERE until > clock_timestamp()"
DUE = "UPDATE paceline.offer SET until = clock_timestamp()"


@pytest.fixture(params=[True, False], ids=["a way past it", "none"])
def listen_url(request: pytest.FixtureRequest, site: Site, bouncer: BouncedServer) -> str | None:
    return bouncer.direct(site.url) if request.param else None


@pytest.fixture
async def address(site: Site, listen_url: str | None) -> str:
    return await site.start(listen_url=listen_url)


async def test_who_polls_is_served_told_and_ended(
    site: Site, address: str, token: str, queue: Queue, listen_url: str | None
) -> None:
    runner = await site.client(address, token)
    me = (await runner.post("/runner/register", json={"kinds": ["*"]})).json()["incarnation"]
    for _ in range(3):
        poll = asyncio.create_task(runner.get("/runner/runs", params={"incarnation": me}))
        made = await queue.enqueue("mail")
        (run,) = (await poll).json()["runs"]
        about = {"incarnation": me, "fence": run["fence"]}
        beat = await runner.post("/runner/heartbeat", json={"incarnation": me, "runs": [[made.id, run["fence"]]]})
        assert (beat.json()["verdict"], beat.json()["refused"]) == ("ok", [])
        assert (await runner.post(f"/runner/runs/{made.id}/log", json={**about, "text": "half\n"})).status_code == 200
        assert (await runner.post(f"/runner/runs/{made.id}/complete", json=about)).status_code == 200
        assert await state(queue, made.id) == "done"
    if listen_url is None:
        assert not await queue.database.value(WAITING), "nobody counts on a wake-up that does not come"
    await queue.database.value("SELECT paceline.fence_incarnation($1, 'Evicted')", me)
    found = await runner.get("/runner/runs", params={"incarnation": me})
    assert found.json()["verdict"] == "fenced"


async def test_a_socket_is_served_told_and_resumed_elsewhere(
    site: Site, address: str, token: str, queue: Queue, listen_url: str | None
) -> None:
    made = await queue.enqueue_many([NewJob(kind="mail")] * 3)
    async with dialled(address, token) as old:
        runs = [await old.ask(2), await old.next("run")]
        assert (await old.beat(*runs))["refused"] == []
        await queue.cancel(made[0].id)
        assert (await old.next("cancel"))["id"] == made[0].id
        async with dialled(await site.start(listen_url=listen_url), token, **old.resume(*runs)) as new:
            assert (new.welcome["resumed"], new.welcome["refused"]) == (True, [])
            assert await old.closed() == 4409
            for run in runs:
                await new.send("complete", id=run["id"], fence=run["fence"])
                assert (await new.next("accepted"))["id"] == run["id"]
            assert (await new.ask())["id"] == made[2].id
            await site.tokens.revoke(token.split("_")[1])
            assert (await new.next("fenced"))["cause"] == "Revoked"
            assert await new.closed() == 4401


async def test_what_nobody_confirms_goes_back_and_who_let_it_lapse_is_told(
    address: str, token: str, queue: Queue
) -> None:
    made = await queue.enqueue("mail")
    async with dialled(address, token) as socket:
        await socket.ask(2)
        await queue.database.value(DUE)
        await socket.next("lapsed")
        assert (await socket.ask())["id"] == made.id


async def test_heartbeats_of_many_at_once(
    site: Site, address: str, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than there are connections, each with a run of its own."""
    monkeypatch.setattr("paceline_gateway.turnstile.PATIENCE_SECONDS", 50.0)
    await queue.enqueue_many([NewJob(kind="mail")] * 30)
    tokens = [await site.tokens.create("rk", pool="builds", runner=f"r{number}") for number in range(30)]
    clients = [await site.client(address, each) for each in tokens]
    told = await asyncio.gather(*(each.post("/runner/register", json={"kinds": ["*"]}) for each in clients))
    numbers = [each.json()["incarnation"] for each in told]
    found = await asyncio.gather(*(
        client.get("/runner/runs", params={"incarnation": number})
        for client, number in zip(clients, numbers, strict=True)
    ))  # fmt: skip
    runs = [[[run["id"], run["fence"]] for run in each.json()["runs"]] for each in found]
    beats = await asyncio.gather(*(
        client.post("/runner/heartbeat", json={"incarnation": number, "runs": held})
        for client, number, held in zip(clients, numbers, runs, strict=True)
    ))  # fmt: skip
    assert [(each.json()["verdict"], each.json()["refused"]) for each in beats] == [("ok", [])] * 30
    assert await queue.database.value("SELECT count(*) FROM paceline.offer") == 0
