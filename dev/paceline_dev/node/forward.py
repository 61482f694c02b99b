"""Ports of pods through the API server, by the kubelet's WebSocket protocol: one connection for each port asked for.

Every message begins with the number of its channel: of the nth port 2n carries data and 2n + 1 what went wrong. The
first message on each is the number of the port. There is no half-closed connection. kubectl's own way, SPDY, is not
served.
"""

import asyncio
import contextlib
from typing import Final

from aiohttp import WSMsgType, web

PROTOCOL: Final = "v4.channel.k8s.io"
DATA: Final = 0
ERROR: Final = 1
PIECE: Final = 32 * 1024
ONLY: Final = "the local node forwards one port, by WebSocket (v4.channel.k8s.io)\n"


async def forward(request: web.Request, address: str) -> web.StreamResponse:
    """Carry one connection to a port of the pod at an address."""
    ports = request.query.getall("port", [])
    answer = web.WebSocketResponse(protocols=(PROTOCOL,), max_msg_size=0)
    if len(ports) != 1 or not ports[0].isdecimal() or not answer.can_prepare(request).ok:
        return web.Response(status=501, text=ONLY)
    port = int(ports[0])
    await answer.prepare(request)
    for channel in (DATA, ERROR):
        await answer.send_bytes(bytes([channel]) + port.to_bytes(2, "little"))
    try:
        reader, writer = await asyncio.open_connection(address, port)
    except OSError as error:
        await answer.send_bytes(bytes([ERROR]) + f"cannot connect to port {port}: {error.strerror}".encode())
        await answer.close()
        return answer
    up = asyncio.create_task(_up(answer, writer))
    try:
        while piece := await reader.read(PIECE):
            await answer.send_bytes(bytes([DATA]) + piece)
        await answer.close()
    finally:
        up.cancel()
        await asyncio.gather(up, return_exceptions=True)
        writer.close()
    return answer


async def _up(answer: web.WebSocketResponse, writer: asyncio.StreamWriter) -> None:
    """What the other end sends; when it has gone, so has the connection to the pod."""
    with contextlib.suppress(ConnectionError):
        async for message in answer:
            if message.type is WSMsgType.BINARY and message.data[:1] == bytes([DATA]):
                writer.write(message.data[1:])
                await writer.drain()
    writer.close()
