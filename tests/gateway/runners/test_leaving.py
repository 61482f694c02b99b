"""Gateways that close, are killed, or cannot hear: nobody's run is lost with one of them."""

import asyncio
import re
import signal

import pytest

from gateway.conftest import Client, Registered, Site, state, until
from gateway.runners.client import dialled
from gateway.runners.conftest import StartProcess
from paceline.queue import Queue
from paceline_gateway import serve
from paceline_gateway.runners.session import Session
from paceline_gateway.serve import leave

WAITING = "SELECT count(*) FROM paceline.waiter WHERE until > clock_timestamp()"
HELLO = {"kinds": ["thumb"], "heartbeat_seconds": 60}
LEFT = "SELECT extract(epoch FROM lease_until - clock_timestamp()) FROM paceline.incarnation WHERE id = $1"

LOOKS = re.compile(r'^paceline_db_write_seconds_count\{call="claim"\} (.*)$', re.MULTILINE)


async def test_a_gateway_that_closes_tells_everybody_and_ends_nobody(
    site: Site, token: str, queue: Queue, gateway_process: StartProcess
) -> None:
    leaving, staying = await gateway_process("--leave", "0"), await gateway_process()
    poller = await site.client(leaving.address, await site.tokens.create("rk", pool="builds", runner="poller"))
    other = (await poller.post("/runner/register", json=HELLO)).json()["incarnation"]
    poll = asyncio.create_task(poller.get("/runner/runs", params={"incarnation": other}))
    made = await queue.enqueue("mail")
    async with dialled(leaving.address, token, heartbeat_seconds=60) as socket:
        run = await socket.ask()
        await until(lambda: queue.database.value(WAITING))
        leaving.signal(signal.SIGTERM)
        assert (await socket.next("reconnect")) == {"type": "reconnect"}
        assert await socket.closed() == 1012
    assert (await poll).json() == {"verdict": "ok", "cancelled": [], "runs": []}
    assert await leaving.ended() == 0
    for number in (socket.incarnation, other):
        assert float(await queue.database.value(LEFT, number)) > 30, "the lease of 150 s was not touched"
    async with dialled(staying.address, token, **socket.resume(run)) as again:
        assert (again.welcome["resumed"], again.welcome["refused"]) == (True, [])
        await again.send("complete", id=run["id"], fence=run["fence"])
        assert (await again.next("accepted"))["id"] == made.id


async def test_everybody_is_told_before_a_connection_is_closed(site: Site, token: str) -> None:
    async with dialled(await site.start(), token) as socket:
        ((app, server),) = site.served
        await leave(app, server)
        for connection in list(server.server_state.connections):
            connection.shutdown()  # as uvicorn does, now or a moment later
        await socket.next("reconnect")
        assert await socket.closed() == 1012


async def test_one_that_does_not_hear_it_keeps_no_gateway_open(
    site: Site, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "TELLING_SECONDS", 0.05)
    monkeypatch.setattr(Session, "_send_away", lambda _: None)
    async with dialled(await site.start(), token) as socket:
        await leave(*site.served[0])
        assert await socket.closed() == 1012


async def test_a_gateway_that_is_killed_takes_no_run_with_it(
    token: str, queue: Queue, gateway_process: StartProcess
) -> None:
    killed, other = await gateway_process(), await gateway_process()
    made = await queue.enqueue("mail")
    async with dialled(killed.address, token) as socket:
        run = await socket.ask()
        killed.signal(signal.SIGKILL)
        assert await socket.closed() == 1006
    async with dialled(other.address, token, **socket.resume(run)) as again:
        assert (again.welcome["resumed"], again.welcome["refused"]) == (True, [])
        await again.send("complete", id=run["id"], fence=run["fence"])
        assert (await again.next("accepted"))["id"] == made.id


async def test_what_nobody_tells_is_found_all_the_same(runner: Client, register: Registered, queue: Queue) -> None:
    me = await register()
    look = {"incarnation": me, "wait": 0}
    while not await queue.database.value(WAITING):  # until it hears
        await runner.get("/runner/runs", params=look)
    await runner.get("/runner/runs", params=look)
    began = await queue.database.value("SELECT clock_timestamp()")
    poll = asyncio.create_task(runner.get("/runner/runs", params={"incarnation": me}))
    looked = """SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%paceline.offer(%' AND state = 'idle'
                   AND query_start > $1 AND datname = current_database()"""
    await until(lambda: queue.database.value(looked, began))
    async with queue.database.connection() as connection, connection.transaction():
        await connection.execute("DELETE FROM paceline.waiter")  # so that the enqueue tells nobody
        made = await queue.enqueue("mail", connection=connection)
    assert [run["id"] for run in (await poll).json()["runs"]] == [made.id]


async def test_a_gateway_that_cannot_hear_looks_by_itself_and_asks_nobody_to_tell(
    site: Site, token: str, queue: Queue
) -> None:
    deaf = await site.client(await site.start(listen_url=f"{site.url}?pgbouncer=1"), token)
    me = (await deaf.post("/runner/register", json={"kinds": ["*"]})).json()["incarnation"]
    assert (await deaf.get("/runner/runs", params={"incarnation": me, "wait": 0})).json()["runs"] == []
    poll = asyncio.create_task(deaf.get("/runner/runs", params={"incarnation": me}))

    async def has_looked_twice() -> bool:
        (looks,) = LOOKS.findall((await deaf.get("/metrics")).text)
        return float(looks) >= 2

    await until(has_looked_twice)
    made = await queue.enqueue("mail")
    assert [run["id"] for run in (await poll).json()["runs"]] == [made.id]
    assert not await queue.database.value(WAITING)


async def test_an_ear_that_is_lost_grows_again(site: Site, runner: Client, register: Registered, queue: Queue) -> None:
    me = await register()
    poll = asyncio.create_task(runner.get("/runner/runs", params={"incarnation": me}))
    await until(lambda: queue.database.value(WAITING))
    role = site.url.split("//")[1].split(":")[0]
    listening = "FROM pg_stat_activity WHERE usename = $1 AND query LIKE '%pg_notify%' AND state = 'idle'"
    assert await queue.database.value(f"SELECT count(pg_terminate_backend(pid)) {listening}", role) >= 1
    await until(lambda: queue.database.value(f"SELECT count(*) {listening}", role))
    made = await queue.enqueue("mail")
    assert [run["id"] for run in (await poll).json()["runs"]] == [made.id]


async def test_a_socket_that_drops_unheard_is_found_by_the_lease(address: str, token: str, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    async with dialled(address, token) as socket:
        run = await socket.ask()
        await socket.beat(run)
        # as if its heartbeats had not come for thirty seconds
        over = "UPDATE paceline.incarnation SET lease_until = clock_timestamp() WHERE id = $1"
        await queue.database.value(over, socket.incarnation)
        assert (await socket.next("fenced"))["cause"] == "LeaseExpired"
        assert await socket.closed() == 4408

    async def back() -> bool:
        return await state(queue, made.id) == "ready"

    await until(back)
