"""Who connects has to say what it wants, in time and in a few words; who has said it may stay."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import ClassVar

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


# who does not read

BIG = "GET /docs/swagger-ui-bundle.js"
"""1.5 MB."""
TIMES = 6


class Unread(Quick):
    """Collects what is not read, however much it is, so that whole answers wait."""

    unread_seconds = 0.3
    high: ClassVar[int | None] = 2**26
    gone: ClassVar[asyncio.Event]
    answered: ClassVar[int]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**16)  # else megabytes
        if self.high is not None:
            transport.set_write_buffer_limits(high=self.high)
        self.timeout_keep_alive = 1
        super().connection_made(transport)

    def on_response_complete(self) -> None:
        type(self).answered += 1
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.gone.set()


class Pausing(Unread):
    """As it is served: 64 KiB may wait."""

    high = None
    head_seconds = 60


@contextlib.asynccontextmanager
async def unreading(site: Door, kind: type[Unread], *heads: str) -> AsyncIterator[socket.socket]:
    """A client that asks, and takes nothing."""
    site.connection, kind.gone, kind.answered = kind, asyncio.Event(), 0
    address = await site.start()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", int(address.rpartition(":")[2])))
        await asyncio.get_running_loop().sock_sendall(client, "".join(heads).encode())
        yield client


def asking(line: str, **headers: str) -> str:
    return "".join([f"{line} HTTP/1.1\r\nhost: gateway\r\n", *(f"{k}: {v}\r\n" for k, v in headers.items()), "\r\n"])


@pytest.mark.parametrize(
    ("kind", "last"),
    [
        (Pausing, ""),  # the next answer waits until the one before it has been taken
        (Unread, ""),  # all are on their way: nothing is asked for until its time is over
        (Unread, "GET /heal"),
        (Unread, asking("GET /health/live", connection="close")),
        (Unread, "nonsense\r\n\r\n"),
    ],
    ids=["in an answer", "after an answer", "in a head", "at the end", "after nonsense"],
)
async def test_one_that_does_not_read_is_ended(site: Door, kind: type[Unread], last: str) -> None:
    async with unreading(site, kind, *[asking(BIG)] * TIMES) as client, asyncio.timeout(50):
        if last:
            while kind.answered < TIMES:  # noqa: ASYNC110 -- uvicorn does not say when
                await asyncio.sleep(0.01)
            await asyncio.get_running_loop().sock_sendall(client, last.encode())
        await kind.gone.wait()


class Patient(Unread):
    """Five seconds of reading take longer than this, and no part of them does."""

    unread_seconds = 3


async def test_one_that_reads_slowly_may_stay(site: Door) -> None:
    heads = [*[asking(BIG)] * 8, asking("GET /health/live", connection="close")]
    async with unreading(site, Patient, *heads) as client, asyncio.timeout(40):
        read, end = 0, b""
        while part := await asyncio.get_running_loop().sock_recv(client, 2**16):
            read, end = read + len(part), part
            if read % 2**18 < len(part):
                await asyncio.sleep(0.1)  # 2.5 MB/s
        assert end.endswith(b"ok\n")
