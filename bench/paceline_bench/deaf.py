"""A way to the database on which no NOTIFY arrives, nor an error: what PgBouncer does in transaction mode."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from typing import Final

from paceline_bench.passage import passage

NOTIFICATION: Final = b"A"
HEADER: Final = struct.Struct("!cI")


@contextlib.asynccontextmanager
async def deaf(url: str) -> AsyncIterator[str]:
    """The URL of a loopback port that hands everything on to the database behind `url` but notifications."""
    async with passage(url, back=_filtered) as found:
        yield found


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
