"""A port of this machine that leads to a port of a pod, as `kubectl port-forward` does it, without kubectl.

Each connection is a WebSocket through the API server to the kubelet. Channel 0 carries data, channel 1 says what went
wrong; the first message on each is the number of the port.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import aiohttp

from paceline_operator.ports.errors import ClusterError

if TYPE_CHECKING:
    from paceline_cli.kube.streams import Socket, Streams

DATA: Final = 0
ERROR: Final = 1
PIECE: Final = 32 * 1024
LOOPBACK: Final = "127.0.0.1"


class Forward:
    """Carries connections to one port of one pod."""

    def __init__(self, streams: "Streams", namespace: str, pod: str, port: int) -> None:
        """Open nothing yet."""
        self._streams = streams
        self._where = (namespace, pod, port)
        self._carrying: set[asyncio.Task[None]] = set()
        self.trouble = ""
        """What the other end has said last of a connection that it could not make."""

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """The local port, while the block runs. That the way is open at all is tried first: who may not is told so."""
        async with self._streams.port(*self._where):
            pass
        server = await asyncio.start_server(self._serve, LOOPBACK, 0)
        try:
            yield int(server.sockets[0].getsockname()[1])
        finally:
            server.close()
            left = [*self._carrying]
            for each in left:
                each.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """In a task of our own: the server's would complain when it is cancelled."""
        task = asyncio.create_task(self._carry(reader, writer))
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with self._streams.port(*self._where) as socket:
                up = asyncio.create_task(_up(reader, socket))
                try:
                    self.trouble = await _down(socket, writer) or self.trouble
                finally:
                    up.cancel()
                    await asyncio.gather(up, return_exceptions=True)
        except (ClusterError, aiohttp.ClientError, OSError) as error:
            self.trouble = str(error)
        finally:
            writer.close()


async def _up(reader: asyncio.StreamReader, socket: "Socket") -> None:
    """What is sent here goes there; when this end is through, so is the connection: the protocol knows no half."""
    while piece := await reader.read(PIECE):
        await socket.send_bytes(bytes([DATA]) + piece)
    await socket.close()


async def _down(socket: "Socket", writer: asyncio.StreamWriter) -> str:
    """What comes from there goes here; what went wrong there, if something did."""
    greeted: set[int] = set()
    async for message in socket:
        if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
            continue
        channel, piece = message.data[0], message.data[1:]
        if channel not in greeted:
            greeted.add(channel)
        elif channel == DATA:
            writer.write(piece)
            await writer.drain()
        elif channel == ERROR:
            return str(piece.decode(errors="replace")).strip()
    return ""
