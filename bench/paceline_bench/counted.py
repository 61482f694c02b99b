"""A way to the database on which every statement is counted, whatever the server's statistics say and when.

The server counts transactions for all sessions together, and hears of them seconds later. Here the heartbeats of a
thousand runners are no part of the count, and a BEGIN is a statement like any other.
"""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from paceline_bench.passage import passage

HEADER: Final = struct.Struct("!cI")
LENGTH: Final = struct.Struct("!I")
STATEMENTS: Final = (b"Q", b"E")
"""A simple query; the execution of a prepared one."""


@dataclass
class Counted:
    """A way, and what has passed on it."""

    url: str = ""
    statements: int = 0
    connections: int = 0
    """Open now."""
    most: int = 0
    """Open at the same time since `begin`."""

    def begin(self) -> None:
        """Count from here."""
        self.statements, self.most = 0, self.connections


@contextlib.asynccontextmanager
async def counted(url: str) -> AsyncIterator[Counted]:
    """A loopback port that leads to the database behind `url`."""
    found = Counted()

    async def there(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.connections += 1
        found.most = max(found.most, found.connections)
        try:
            await _read(reader, writer, found)
        finally:
            found.connections -= 1

    async with passage(url, there=there) as found.url:
        yield found


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Counted) -> None:
    """The first message has no letter; all others do."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        head = await reader.readexactly(LENGTH.size)
        writer.write(head + await reader.readexactly(LENGTH.unpack(head)[0] - LENGTH.size))
        while True:
            head = await reader.readexactly(HEADER.size)
            letter, length = HEADER.unpack(head)
            writer.write(head + await reader.readexactly(length - LENGTH.size))
            count.statements += letter in STATEMENTS
            await writer.drain()
