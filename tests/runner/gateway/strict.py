"""A proxy before a gateway that lets requests through and no WebSocket, as those of some companies do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

from support.listening import listening

REFUSAL = (
    b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\nContent-Length: 9\r\nConnection: close\r\n\r\n<h1>no\r\n\r\n"
)


@contextlib.asynccontextmanager
async def strict_proxy(
    url: str, *, before: Callable[[], Awaitable[object]] | None = None, refusing: bool = True
) -> AsyncIterator[str]:
    """Its address, for as long as the block lasts; `before` is done before a WebSocket is refused, or let through."""
    target = urlsplit(url)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(target.hostname, target.port)
        answers = asyncio.create_task(pump(there, writer))
        try:
            while data := await reader.read(65_536):
                if b"upgrade: websocket" in data.lower():
                    if before is not None:
                        await before()
                    if refusing:
                        writer.write(REFUSAL)
                        await writer.drain()
                        break
                back.write(data)
                await back.drain()
        except ConnectionError:  # the other side has gone
            pass
        finally:
            answers.cancel()
            back.transport.abort()
            writer.close()  # not before the refusal has gone out

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async with listening(serve) as port:
        yield f"http://127.0.0.1:{port}"
