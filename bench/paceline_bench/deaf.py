"""A way to the database on which no NOTIFY arrives, nor an error: what PgBouncer does in transaction mode."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import urlsplit, urlunsplit

NOTIFICATION: Final = b"A"
HEADER: Final = struct.Struct("!cI")
SIZE: Final = 2**16


@contextlib.asynccontextmanager
async def deaf(url: str) -> AsyncIterator[str]:
    """The URL of a loopback port that hands everything on to the database behind `url` but notifications."""
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
        ways = [asyncio.create_task(_all(reader, to_behind)), asyncio.create_task(_filtered(behind, writer))]
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


async def _all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(SIZE):
        writer.write(data)
        await writer.drain()


async def _filtered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Message by message: a letter, the length with itself, the rest."""
    with contextlib.suppress(asyncio.IncompleteReadError):
        while True:
            head = await reader.readexactly(HEADER.size)
            letter, length = HEADER.unpack(head)
            body = await reader.readexactly(length - 4)
            if letter != NOTIFICATION:
                writer.write(head + body)
                await writer.drain()
