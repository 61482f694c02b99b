"""A way to the database through this process, where what passes can be counted or left out."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit, urlunsplit

Way = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
SIZE: Final = 2**16


async def everything(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Hand on all of it, as it comes."""
    while data := await reader.read(SIZE):
        writer.write(data)
        await writer.drain()


@contextlib.asynccontextmanager
async def passage(url: str, *, there: Way = everything, back: Way = everything) -> AsyncIterator[str]:
    """The URL of a loopback port that leads to the database behind `url`."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    host, port = parts.hostname, parts.port
    open_now: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_now[task] = writer
        task.add_done_callback(open_now.pop)
        behind, to_behind = await asyncio.open_connection(host, port)
        ways = [asyncio.ensure_future(there(reader, to_behind)), asyncio.ensure_future(back(behind, writer))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        writer.close()
        to_behind.close()
        await asyncio.gather(*ways, return_exceptions=True)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        login, at, _ = parts.netloc.rpartition("@")
        # without TLS: an answer to the question for it would be a bare letter, no message
        yield urlunsplit(parts._replace(netloc=f"{login}{at}{place}", query="sslmode=disable"))
    finally:
        server.close()
        for writer in open_now.values():
            writer.close()
        await asyncio.gather(*open_now, return_exceptions=True)
