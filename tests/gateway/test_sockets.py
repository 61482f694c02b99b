"""Runners by WebSocket: pushed to, resumed on any gateway, and lost after five seconds."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from gateway.conftest import Client, Site, state, until
from paceline.job import JobId
from paceline.queue import Queue
from paceline.reading import Reader

HELLO = {"type": "hello", "kinds": ["*"], "slots": 2}
PATIENCE = 50


class Socket:
    """One end of it."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, **frame: Any) -> None:
        await self.connection.send(json.dumps(frame))

    async def next(self, kind: str) -> dict[str, Any]:
        """The next frame of that type."""
        while (frame := json.loads(await self.connection.recv()))["type"] != kind:
            pass
        return dict(frame)

    async def closed(self) -> int:
        """The code of its end."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self.connection.recv()
        return self.connection.close_code or 0


@contextlib.asynccontextmanager
async def dialled(address: str, token: str, **hello: Any) -> AsyncIterator[tuple[Socket, dict[str, Any]]]:
    """A runner that has said hello, and what it was told."""
    url = address.replace("http", "ws") + "/runner/connect"
    headers = {"Authorization": f"Bearer {token}"}
    options: dict[str, Any] = {"additional_headers": headers, "subprotocols": ["paceline.v1"], "open_timeout": PATIENCE}
    async with connect(url, **options) as connection:
        socket = Socket(connection)
        await socket.send(**{**HELLO, **hello})
        yield socket, await socket.next("welcome")


@pytest.fixture
async def token(site: Site) -> str:
    return await site.tokens.create("rk", pool="builds", runner="laptop")


async def test_runs_are_pushed_and_their_results_count(address: str, token: str, queue: Queue) -> None:
    async with dialled(address, token) as (socket, welcome):
        assert (welcome["runner"], welcome["pool"], welcome["resumed"]) == ("laptop", "builds", False)
        await socket.send(type="ready", want=1)
        made = await queue.enqueue("mail", {"to": "ada"})
        run = await socket.next("run")
        assert (run["id"], run["payload"]) == (made.id, {"to": "ada"})
        await socket.send(type="complete", id=run["id"], fence=run["fence"], result=[1])
        assert (await socket.next("accepted"))["about"] == "complete"
        await socket.send(type="complete", id=run["id"], fence=run["fence"], result=[2])
        assert (await socket.next("refused"))["id"] == made.id
        seen = await Reader(queue.database).job_detail(made.id)
        assert seen is not None
        assert (seen.state, seen.result) == ("done", [1])
        await socket.send(type="goodbye")
        assert await socket.closed() == 1000
    assert await queue.database.value("SELECT cause FROM paceline.incarnation") == "Deregistered"


async def test_no_more_runs_are_pushed_than_are_wanted(address: str, token: str, queue: Queue) -> None:
    for _ in range(3):
        await queue.enqueue("mail")
    async with dialled(address, token) as (socket, _):
        await socket.send(type="ready", want=2)
        runs = [await socket.next("run") for _ in range(2)]
        await socket.send(type="heartbeat", runs=[[run["id"], run["fence"]] for run in runs])
        assert (await socket.next("beat"))["verdict"] == "ok"
        assert await queue.database.value("SELECT count(*) FROM paceline.job WHERE state = 'r'") == 1


@pytest.mark.usefixtures("unhurried")
async def test_a_socket_that_dropped_is_resumed_at_another_gateway(
    site: Site, address: str, token: str, queue: Queue
) -> None:
    made = await queue.enqueue("mail")
    async with dialled(address, token) as (socket, welcome):
        await socket.send(type="ready", want=1)
        run = await socket.next("run")
        socket.connection.transport.abort()
    resume = {"incarnation": welcome["incarnation"], "runs": [[run["id"], run["fence"]]]}
    async with dialled(await site.start(), token, resume=resume) as (socket, again):
        assert (again["resumed"], again["incarnation"], again["refused"]) == (True, welcome["incarnation"], [])
        await socket.send(type="complete", id=run["id"], fence=run["fence"])
        assert (await socket.next("accepted"))["id"] == made.id


async def test_one_that_does_not_come_back_is_lost_and_its_caller_is_told_at_once(
    address: str, producer: Client, token: str, queue: Queue
) -> None:
    async with dialled(address, token) as (socket, _):
        await socket.send(type="ready", want=2)
        call = asyncio.create_task(producer.post("/v1/call", json={"kind": "add"}))
        await socket.next("run")
        held = await queue.enqueue("mail")
        await socket.next("run")
        socket.connection.transport.abort()
    answer = await call
    assert (answer.status_code, answer.json()["detail"]) == (502, "Runner laptop disconnected mid-job")
    (told,) = await Reader(queue.database).job_attempts(JobId(answer.json()["job"]))
    assert told.ended_at is not None

    async def back() -> bool:
        return await state(queue, held.id) == "ready"

    await until(back)
    (lost,) = await Reader(queue.database).job_attempts(held.id)
    assert (lost.outcome, lost.cause) == ("lost", "Disconnected")
    assert lost.ended_at is not None
    assert lost.ended_at - told.ended_at > timedelta(seconds=4), "it had five seconds"


async def test_a_gateway_that_closes_fences_nobody(site: Site, token: str, queue: Queue) -> None:
    first = await site.start()
    await queue.enqueue("mail")
    async with dialled(first, token) as (socket, welcome):
        await socket.send(type="ready", want=1)
        run = await socket.next("run")
        closing = asyncio.create_task(site.gateways.aclose())
        await socket.next("reconnect")
        assert await socket.closed() == 1012
        await closing
    resume = {"incarnation": welcome["incarnation"], "runs": [[run["id"], run["fence"]]]}
    async with dialled(await site.start(), token, resume=resume) as (_, again):
        assert (again["resumed"], again["refused"]) == (True, [])
    await site.gateways.aclose()


async def test_cancels_drains_and_ends_are_told(address: str, token: str, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    async with dialled(address, token) as (socket, welcome):
        await socket.send(type="ready", want=1)
        await socket.next("run")
        await queue.cancel(made.id)
        assert (await socket.next("cancel"))["id"] == made.id
        await queue.database.value("SELECT paceline.drain($1)", welcome["incarnation"])
        assert (await socket.next("drain"))["leave"] is False
        await queue.database.value("SELECT paceline.fence_incarnation($1, 'Evicted')", welcome["incarnation"])
        assert (await socket.next("fenced"))["cause"] == "Evicted"
        assert await socket.closed() == 4409


async def test_frames_that_cannot_be_understood_are_answered_a_few_times(address: str, token: str) -> None:
    async with dialled(address, token) as (socket, _):
        for bad in ("{", "[]", '{"type": "sing"}', '{"type": "ready", "want": -1}', b"\x00"):
            await socket.connection.send(bad)
            assert (await socket.next("problem"))["error"] == "bad_frame"
        assert await socket.closed() == 4400


@pytest.mark.parametrize("token", ["", "rk_000000000000_" + "x" * 43])
async def test_a_bad_token_is_told_by_the_code(address: str, token: str) -> None:
    url = address.replace("http", "ws") + "/runner/connect"
    headers = {"Authorization": f"Bearer {token}"}
    async with connect(url, additional_headers=headers, open_timeout=PATIENCE) as connection:
        assert await Socket(connection).closed() == 4401


@pytest.mark.usefixtures("unhurried")
async def test_one_that_only_resumes_does_not_replace_whoever_came_after_it(
    address: str, token: str, queue: Queue
) -> None:
    async with dialled(address, token) as (_, old):
        pass
    async with dialled(address, token) as (new, _):
        url = address.replace("http", "ws") + "/runner/connect"
        headers = {"Authorization": f"Bearer {token}"}
        async with connect(url, additional_headers=headers, open_timeout=PATIENCE) as connection:
            back = Socket(connection)
            await back.send(**HELLO, resume={"incarnation": old["incarnation"], "only": True})
            assert (await back.next("fenced"))["cause"] == "Replaced"
            assert await back.closed() == 4409
        await new.send(type="heartbeat")
        assert (await new.next("beat"))["verdict"] == "ok"
