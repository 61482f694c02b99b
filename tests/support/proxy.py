"""A TCP proxy that can misbehave: cut connections, refuse new ones, or swallow everything without a word."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

from support.listening import listening


class Proxy:
    """Stands before a database or a gateway. `url` is its own with our address in it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._target = (parts.hostname, parts.port)
        self._parts = parts
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._refusing = False
        self._port = 0

    @property
    def url(self) -> str:
        login, at, _ = self._parts.netloc.rpartition("@")
        return urlunsplit(self._parts._replace(netloc=f"{login}{at}127.0.0.1:{self._port}"))

    def lead_to(self, url: str) -> None:
        """Whoever connects from now on comes to another one."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._target = (parts.hostname, parts.port)

    def swallow(self) -> None:
        """From now on nothing comes through in either direction, and nobody is told."""
        self._flows.clear()

    def forget(self) -> None:
        """Swallow what comes on the connections that are there, as a router that was restarted; new ones work."""
        self._flows.clear()
        self._flows = asyncio.Event()
        self._flows.set()

    def cut(self) -> None:
        """End all connections."""
        for writer in list(self._writers):
            writer.transport.abort()

    def refuse(self, refusing: bool = True) -> None:
        """Let nobody in."""
        self._refusing = refusing
        if not refusing:
            self._flows.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            if self._refusing:
                return
            there, back = await asyncio.open_connection(*self._target)
            self._writers.add(back)
            try:
                await asyncio.gather(self._pump(reader, back), self._pump(there, writer))
            finally:
                back.transport.abort()
                self._writers.discard(back)
        except OSError:
            pass
        finally:
            writer.transport.abort()
            self._writers.discard(writer)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        flows = self._flows
        while data := await reader.read(65_536):
            await flows.wait()
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError


@contextlib.asynccontextmanager
async def proxy(url: str) -> AsyncIterator[Proxy]:
    """For as long as the block lasts."""
    made = Proxy(url)
    async with listening(made._serve) as made._port:
        yield made
