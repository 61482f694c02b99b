"""How a runner and its worker processes talk: JSON objects, each after its length, over a socket of their own."""

import asyncio
import json
import socket
import struct
from typing import Any, Final

CHANNEL: Final = 3
"""The worker's descriptor: what handlers print to stdout and stderr cannot get in between."""
LIMIT: Final = 2**24
"""No message of ours comes near: a payload and a result have at most 1 MiB."""
_LENGTH: Final = struct.Struct("!I")

Message = dict[str, Any]


class ClosedError(Exception):
    """The other side has hung up, or says what it cannot have meant."""


class Wire:
    """One end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Use `open`."""
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, end: socket.socket) -> "Wire":
        """Take over a connected socket."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    def send(self, message: Message) -> None:
        """Never waits; one whom nobody hears any more will notice when it listens."""
        data = json.dumps(message).encode()
        if not self._writer.is_closing():
            self._writer.write(_LENGTH.pack(len(data)) + data)

    async def receive(self) -> Message:
        """The next message."""
        try:
            (size,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            if size > LIMIT:
                raise ClosedError(f"a message of {size} bytes")
            message = json.loads(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, OSError, ValueError) as error:
            raise ClosedError(str(error)) from None
        if not isinstance(message, dict):
            raise ClosedError("a message that is no object")
        return message

    def close(self) -> None:
        """Hang up."""
        self._writer.close()
