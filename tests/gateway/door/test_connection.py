"""Who connects has to say what it wants, in time and in a few words; who has said it may stay."""

import asyncio

import pytest

from gateway.door.conftest import Door, Quick, Raw
from paceline.queue import Queue
from paceline_gateway.limits import MOST_HEAD


@pytest.fixture
async def address(site: Door) -> str:
    site.connection = Quick
    return await site.start()


async def test_one_that_says_nothing_is_closed(address: str) -> None:
    async with Raw.open(address) as raw:
        assert await raw.closed() == b""


async def test_one_whose_head_does_not_end_is_closed(address: str) -> None:
    async with Raw.open(address) as raw:

        async def trickle() -> None:
            await raw.send("GET /health/live HTTP/1.1\r\n")
            while True:
                await asyncio.sleep(0.05)
                await raw.send("x: y\r\n")

        trickling = asyncio.create_task(trickle())
        assert (await raw.closed()).startswith(b"HTTP/1.1 408 ")
        trickling.cancel()
        await asyncio.gather(trickling, return_exceptions=True)


async def test_one_whose_second_head_does_not_end_is_closed_too(address: str) -> None:
    async with Raw.open(address) as raw:
        await raw.head("GET /health/live")
        assert (await raw.answer()).status == 200
        await raw.send("GET /heal")
        assert (await raw.closed()).startswith(b"HTTP/1.1 408 ")


async def test_one_that_goes_on_with_a_body_that_was_answered_is_closed(address: str) -> None:
    async with Raw.open(address) as raw:
        await raw.head("POST /v1/jobs", "nonsense", content_length=1000)
        assert (await raw.answer()).status == 401
        await raw.send("x")
        assert await raw.closed() == b""


async def test_a_head_without_end_is_not_collected(site: Door) -> None:
    async with Raw.open(await site.start()) as raw:
        await raw.send("GET /health/live HTTP/1.1\r\nx: ")

        async def go_on() -> None:
            for _ in range(300):
                await raw.send("y" * MOST_HEAD)
                await asyncio.sleep(0)  # the gateway is in the same loop

        with pytest.raises(ConnectionError):
            await go_on()


async def test_one_that_has_been_served_may_stay(address: str) -> None:
    async with Raw.open(address) as raw:
        await raw.head("GET /health/live")
        assert (await raw.answer()).status == 200
        await asyncio.sleep(3 * Quick.head_seconds)  # nothing is to happen
        await raw.head("GET /health/live")
        assert (await raw.answer()).status == 200


async def test_one_that_waits_for_its_answer_may_stay(site: Door, address: str, queue: Queue) -> None:
    token, made = await site.tokens.create("ak"), await queue.enqueue("mail")
    async with Raw.open(address) as raw:
        await raw.head(f"GET /v1/jobs/{made.id}?wait=1", token)
        assert (await raw.answer()).status == 200
