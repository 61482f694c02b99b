"""A local port that leads to a port of a pod, by the kubelet's own protocol."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from kubernetes.aio.client import Configuration

from paceline_cli.kube.forward import Forward
from paceline_cli.kube.streams import Streams
from paceline_dev.node.forward import forward
from paceline_operator.ports.errors import ForbiddenError, RefusedError, UnreachableError
from support.listening import listening

PATH = "/api/v1/namespaces/ci/pods/gw-1/portforward"


class Key:
    """An API server without TLS, and the header that proves who asks."""

    def __init__(self, host: str) -> None:
        self._host = host

    async def open(self) -> Configuration:
        return Configuration(host=self._host)

    def authorization(self) -> str | None:
        return "Bearer known"

    async def renew(self, _: str | None) -> bool:
        return False


@asynccontextmanager
async def api_server(answer: int = 0) -> AsyncIterator[str]:
    """It hands connections on to ports of this machine, or answers with a code."""

    async def serve(request: web.Request) -> web.StreamResponse:
        assert request.headers["Authorization"] == "Bearer known"
        if answer:
            return web.json_response({"message": "no"}, status=answer)
        asked = request.clone(rel_url=request.rel_url.with_query(port=request.query["ports"]))
        return await forward(asked, "127.0.0.1")

    app = web.Application()
    app.router.add_get(PATH, serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def echo() -> AsyncIterator[int]:
    """A pod's port that says everything twice, and ends at `end`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line * 2)
            await writer.drain()
            if line == b"end\n":
                break
        writer.close()

    async with listening(serve, limit=2**22) as port:
        yield port


async def test_many_connections_at_once_each_with_its_own_bytes() -> None:
    async with (
        echo() as pod, api_server() as host, Streams(Key(host)) as streams,
        Forward(streams, "ci", "gw-1", pod).listening() as port,
    ):  # fmt: skip

        async def talk(number: int) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
            line = f"{number}:".encode() + bytes([97 + number]) * 300_000 + b"\n"
            writer.write(line)
            assert [await reader.readline(), await reader.readline()] == [line, line]
            writer.write(b"end\n")
            assert await reader.read() == b"end\nend\n", "the end at the other side is the end here"
            writer.close()

        await asyncio.gather(*(talk(number) for number in range(8)))


async def test_nothing_listens_any_more_when_it_is_over() -> None:
    async with echo() as pod, api_server() as host, Streams(Key(host)) as streams:
        async with Forward(streams, "ci", "gw-1", pod).listening() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"x\n")
            await reader.readline()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        writer.close()


async def test_a_port_that_nobody_listens_on_is_told() -> None:
    async with echo() as closed:
        pass
    async with api_server() as host, Streams(Key(host)) as streams:
        way = Forward(streams, "ci", "gw-1", closed)
        async with way.listening() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await reader.read() == b""
            writer.close()
        assert f"cannot connect to port {closed}" in way.trouble


@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        (403, ForbiddenError, "pods/portforward"),
        (404, RefusedError, "port-forward to pod ci/gw-1"),
        (500, UnreachableError, "port-forward to pod ci/gw-1"),
    ],
)
async def test_who_may_not_is_told_before_anything_listens(code: int, error: type[Exception], said: str) -> None:
    async with api_server(code) as host, Streams(Key(host)) as streams:
        with pytest.raises(error, match=said):
            async with Forward(streams, "ci", "gw-1", 8000).listening():
                pass
