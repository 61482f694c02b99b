"""What the gateway tells by itself: how the pools stand, until somebody must not know any more."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from dashboard.conftest import API, signed_in
from gateway.conftest import Client
from gateway.door.conftest import Door
from paceline.queue import Queue

PATIENCE = 50


class Events:
    """The events of a stream, one after the other."""

    def __init__(self, answer: httpx.Response) -> None:
        self.headers = answer.headers
        self._lines = answer.aiter_lines()

    async def next(self) -> tuple[str, Any]:
        """Its name and what it says; "end" when nothing follows."""
        name = ""
        async with asyncio.timeout(PATIENCE):
            async for line in self._lines:
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    return name, json.loads(line[6:])
        return "end", None

    async def until(self, wanted: str) -> Any:
        while True:
            name, told = await self.next()
            if name == wanted:
                return told
            assert name != "end", f"it ended before {wanted}"


@asynccontextmanager
async def listening(client: Client) -> AsyncIterator[Events]:
    async with client.stream("GET", f"{API}/stream") as answer:
        assert answer.status_code == 200
        yield Events(answer)


async def test_it_tells_how_the_pools_stand_and_what_to_think_of_it(queue: Queue, person: Client) -> None:
    await queue.enqueue("mail")
    async with listening(person) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        (pool,) = await events.until("pools")
        assert (pool["name"], pool["ready"], pool["verdict"]["state"]) == ("builds", 1, "stuck")
        (stuck,) = pool["verdict"]["stuck"]
        assert stuck["remedy"].startswith("Start a runner of pool builds whose app has a handler for mail; ")
        await queue.enqueue("mail")
        while (await events.until("pools"))[0]["ready"] != 2:
            pass


async def test_many_who_watch_are_one_look_at_the_database(
    site: Door, address: str, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline_gateway.dashboard.board.BEAT_SECONDS", 3600.0)
    await queue.enqueue("mail")
    board = site.apps[0].state.services.board
    looks: list[None] = []
    look = board._look

    async def counted() -> None:
        looks.append(None)
        await look()

    board._look = counted
    client = await signed_in(site, address, await site.tokens.create("ak"))
    answers = await asyncio.gather(*(client.get(f"{API}/pools") for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert len(looks) == 1


async def test_it_ends_with_the_token(site: Door, address: str, queue: Queue) -> None:
    await queue.enqueue("mail")
    token = await site.tokens.create("ak")
    client = await signed_in(site, address, token)
    async with listening(client) as events:
        await events.until("pools")
        await site.tokens.revoke(token.split("_")[1])
        await events.until("signed-out")
        assert await events.next() == ("end", None)


async def test_it_ends_when_the_gateway_leaves(site: Door, person: Client, queue: Queue) -> None:
    await queue.enqueue("mail")
    async with listening(person) as events:
        await events.until("pools")
        site.apps[0].state.services.leaving.set()
        while (told := await events.next())[0] == "pools":
            pass
        assert told == ("end", None)


async def test_a_database_that_does_not_answer_is_told(site: Door, person: Client, queue: Queue) -> None:
    await queue.enqueue("mail")
    async with listening(person) as events:
        await events.until("pools")
        await queue.database.value("ALTER FUNCTION paceline.standing RENAME TO standing_elsewhere")
        await events.until("away")
        await queue.database.value("ALTER FUNCTION paceline.standing_elsewhere RENAME TO standing")
        assert await events.until("pools")
