"""A server of a test's own on a port, of which nothing is left when its block ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable


@contextlib.asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]], *, limit: int = 2**16
) -> AsyncIterator[int]:
    """Its port. Connections that are there at the end are cut, whoever serves them is told by a cancellation."""
    busy: dict[asyncio.Task[object], asyncio.StreamWriter] = {}

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> object:
        return await serve(reader, writer)

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task: asyncio.Task[object] = asyncio.create_task(served(reader, writer))
        busy[task] = writer

    server = await asyncio.start_server(accepted, "127.0.0.1", 0, limit=limit)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        for each in server.sockets:  # Python 3.11 breaks on whoever comes in the round in which a server is closed
            asyncio.get_running_loop().remove_reader(each.fileno())
        for _ in range(3):
            await asyncio.sleep(0)  # whoever was let in is served by now
        server.close()
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
        for writer in busy.values():
            writer.transport.abort()
        await asyncio.sleep(0)  # for them to be closed
