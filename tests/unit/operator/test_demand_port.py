"""GET /demand: answered by the operator that acts; another one sends on, and asks by itself for the API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import pytest

from paceline.testing.scratch import free_ports
from paceline_operator.adapters.neighbour import Neighbour
from paceline_operator.adapters.queue import Key
from paceline_operator.domain.scaling.told import DemandTold, NoDemandError
from paceline_operator.handlers.demands import Demands
from paceline_operator.handlers.loops import Loops
from paceline_operator.handlers.metrics import Metrics
from paceline_operator.handlers.server import Server
from paceline_operator.handlers.settings import Settings
from support.listening import listening as serving

TOLD = DemandTold(namespace="ci", group="builds", demand=7, ready=5, running=2, at=datetime(2026, 1, 5, tzinfo=UTC))
BUILDS = ("ci", "builds")


def know(key: Key, _now: datetime) -> DemandTold:
    if key == BUILDS:
        return TOLD
    if key == ("ci", "unread"):
        raise NoDemandError("the queue of ci/unread cannot be read")
    return Loops().demand(key, _now)


@asynccontextmanager
async def listening(*, leads: bool, other: str = "") -> AsyncIterator[str]:
    """An operator's port; its address."""
    demands = Demands(know, lambda: leads, lambda: other)
    server = Server(list, str, Metrics(), demands)
    (port,) = free_ports(1)
    await server.start("127.0.0.1", port)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.close()


async def ask(address: str, path: str, *, follow: bool = True) -> tuple[int, dict[str, object]]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{address}{path}", allow_redirects=follow) as answer,
    ):
        return answer.status, await answer.json() if answer.content_type == "application/json" else dict(answer.headers)


async def test_the_one_that_acts_answers() -> None:
    async with listening(leads=True) as here:
        assert await ask(here, "/demand/ci/builds") == (
            200,
            {"namespace": "ci", "group": "builds", "demand": 7, "ready": 5, "running": 2, "at": "2026-01-05T00:00:00Z"},
        )


async def test_an_unknown_group_is_named_and_a_queue_that_cannot_be_read_is_no_zero() -> None:
    async with listening(leads=True) as here:
        status, body = await ask(here, "/demand/ci/nobody")
        assert status == 404
        assert "there is no RunnerGroup ci/nobody" in str(body["error"])
        assert await ask(here, "/demand/ci/unread") == (503, {"error": "the queue of ci/unread cannot be read"})


async def test_a_standby_sends_whoever_asks_to_the_one_that_acts() -> None:
    async with listening(leads=True) as there, listening(leads=False, other=there) as here:
        status, headers = await ask(here, "/demand/ci/builds", follow=False)
        assert (status, headers["Location"]) == (307, f"http://{there}/demand/ci/builds")
        assert (await ask(here, "/demand/ci/builds"))[1]["demand"] == 7


async def test_when_nobody_acts_there_is_no_number() -> None:
    async with listening(leads=False) as here:
        status, body = await ask(here, "/demand/ci/builds")
        assert status == 503
        assert "no operator acts" in str(body["error"])


async def test_a_standby_can_ask_by_itself() -> None:
    async with listening(leads=True) as there, Neighbour() as neighbour:
        assert await Demands(know, lambda: False, lambda: there).find(BUILDS, neighbour.ask) == TOLD
        with pytest.raises(NoDemandError, match="there is no RunnerGroup ci/nobody") as caught:
            await neighbour.ask(there, ("ci", "nobody"))
        assert caught.value.missing
        with pytest.raises(NoDemandError, match="cannot be read") as caught:
            await neighbour.ask(there, ("ci", "unread"))
        assert not caught.value.missing


async def test_two_that_both_stand_by_do_not_ask_each_other_for_ever() -> None:
    async with Neighbour() as neighbour, listening(leads=False, other="127.0.0.1:1") as there:
        with pytest.raises(NoDemandError, match="the operator that acts says") as caught:
            await neighbour.ask(there, BUILDS)
        assert not caught.value.missing


async def test_an_operator_that_is_gone_or_talks_nonsense_has_no_number() -> None:
    async with Neighbour() as neighbour:
        with pytest.raises(NoDemandError, match="cannot be reached"):
            await neighbour.ask("127.0.0.1:1", BUILDS)

        async def nonsense(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()
            writer.close()

        async with serving(nonsense) as port:
            with pytest.raises(NoDemandError, match="cannot be understood"):
                await neighbour.ask(f"127.0.0.1:{port}", BUILDS)


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        (Settings(host="127.0.0.1", port=9), "127.0.0.1:9"),
        (Settings(pod_ip="10.1.2.3"), "10.1.2.3:8081"),
        (Settings(pod_ip="fd00::7"), "[fd00::7]:8081"),
    ],
)
def test_others_find_it_by_the_address_of_its_pod(settings: Settings, address: str) -> None:
    assert settings.address == address
