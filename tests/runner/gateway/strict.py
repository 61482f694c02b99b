"""A proxy before a gateway that lets requests through and no WebSocket, as those of some companies do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

REFUSAL = (
    b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\nContent-Length: 9\r\nConnection: close\r\n\r\n<h1>no\r\n\r\n"
)


@contextlib.asynccontextmanager
async def strict_proxy(
    url: str, *, before: Callable[[], Awaitable[object]] | None = None, refusing: bool = True
) -> AsyncIterator[str]:
    """Its address, for as long as the block lasts; `before` is done before a WebSocket is refused, or let through."""
    target = urlsplit(url)
    busy: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        busy.add(task)
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
        except (ConnectionError, asyncio.CancelledError):  # the other side has gone, or the test is over
            pass
        finally:
            answers.cancel()
            back.transport.abort()
            writer.close()  # not before the refusal has gone out
            busy.discard(task)

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(busy):
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
        await asyncio.sleep(0)  # for what was aborted to be closed
