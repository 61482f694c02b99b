"""Gateways as they are served for real, in this process with shorter patience, or as processes of their own."""

import asyncio
import contextlib
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from gateway.conftest import Client, Site, port_of
from paceline.database import Database
from paceline.tokens import Tokens
from paceline_gateway.app import create_app
from paceline_gateway.connection import Connection
from paceline_gateway.serve import bound, configured, leave
from paceline_gateway.settings import Settings
from support.forked import Awaited
from support.pg import LoginUrl, logins

PATIENCE = 50
LISTENS = re.compile(r"listening on (127\.0\.0\.1:\d+)")


class Quick(Connection):
    """Does not wait for long."""

    head_seconds = 0.3


@dataclass
class Door(Site):
    """Gateways that are served by the same uvicorn as `paceline gateway`."""

    connection: type[Connection] = Connection
    apps: list[FastAPI] = field(default_factory=list)

    async def start(self, **settings: Any) -> str:
        listeners = bound("127.0.0.1", 0)
        port = port_of(listeners)
        made = Settings(**{"database_url": self.url, "host": "127.0.0.1", "port": port, **settings})
        app = create_app(made)
        server = uvicorn.Server(configured(app, made, self.connection))
        serving = asyncio.create_task(server.serve(listeners))

        async def stop() -> None:
            await leave(app, server)
            await serving

        self.gateways.push_async_callback(stop)
        self.apps.append(app)
        while not server.started:
            if serving.done():
                serving.result()
            await asyncio.sleep(0.01)
        return f"http://127.0.0.1:{port}"

    async def nobody(self, address: str, **options: Any) -> Client:
        """Somebody who comes without a token."""
        return await self.gateways.enter_async_context(httpx.AsyncClient(base_url=address, timeout=40, **options))


@pytest.fixture
async def login_url(database: Database, migrated: str) -> AsyncIterator[LoginUrl]:
    async with logins(database, migrated) as make:
        yield make


@pytest.fixture
async def site(login_url: LoginUrl, tokens: Tokens) -> AsyncIterator[Door]:
    made = Door(await login_url("gateway"), tokens)
    async with made.gateways:
        yield made


@pytest.fixture
async def nobody(site: Door, address: str) -> Client:
    return await site.nobody(address)


@dataclass
class Answered:
    """What a raw connection got."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        """The word for programs."""
        return str(json.loads(self.body)["error"])


class Raw:
    """A connection on which every byte is ours."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, address: str) -> AsyncIterator[Self]:
        host, _, port = address.removeprefix("http://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            yield cls(reader, writer)
        finally:
            writer.transport.abort()

    async def send(self, *parts: str) -> None:
        self._writer.write("".join(parts).encode())
        await self._writer.drain()

    async def head(self, line: str, token: str = "", **headers: object) -> None:
        """A whole head."""
        told = {"host": "gateway", **({"authorization": f"Bearer {token}"} if token else {}), **headers}
        await self.send(f"{line} HTTP/1.1\r\n", *(f"{k.replace('_', '-')}: {v}\r\n" for k, v in told.items()), "\r\n")

    async def answer(self) -> Answered:
        async with asyncio.timeout(PATIENCE):
            line, *fields = (await self._reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in fields)}
            body = await self._reader.readexactly(int(headers["content-length"]))
        return Answered(int(line.split()[1]), headers, body)

    async def closed(self) -> bytes:
        """Wait for the end; what came before it, also where the end is a reset."""
        told = b""
        async with asyncio.timeout(PATIENCE):
            with contextlib.suppress(ConnectionResetError):
                while part := await self._reader.read(2**16):
                    told += part
        return told


class GatewayProcess:
    """`paceline gateway` with its log."""

    def __init__(self, process: Awaited) -> None:
        self.process, self.address = process, ""
        self.lines: list[str] = []
        self._news = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for line in self.process.stderr:
            async with self._news:
                self.lines.append(line.decode().rstrip())
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()

    @property
    def log(self) -> str:
        return "\n".join(self.lines)

    async def said(self, text: str) -> None:
        async with asyncio.timeout(PATIENCE), self._news:
            while not any(text in line for line in self.lines):
                assert not self._reader.done(), f"it ended without saying {text!r}:\n{self.log}"
                await self._news.wait()

    async def listens(self) -> None:
        """Wait until it says where."""
        await self.said("listening on")
        (place,) = LISTENS.findall(self.log)
        self.address = f"http://{place}"

    async def ended(self) -> int:
        async with asyncio.timeout(PATIENCE):
            code = await self.process.wait()
            await asyncio.wait([self._reader])
        return code

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()
        await asyncio.wait([self._reader])


class StartGateway(Protocol):
    """Starts a gateway in a process of its own."""

    async def __call__(self, *words: str, url: str = ...) -> GatewayProcess:
        """It listens when this returns."""


@pytest.fixture
async def start(site: Door) -> AsyncIterator[StartGateway]:
    async with contextlib.AsyncExitStack() as stack:

        async def make(*words: str, url: str = site.url) -> GatewayProcess:
            kept = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_")}
            told = ("--listen", "127.0.0.1:0", *words)
            process = await Awaited.start("gateway", *told, env={**kept, "PACELINE_DATABASE_URL": url})
            made = GatewayProcess(process)
            stack.push_async_callback(made.end)
            await made.listens()
            return made

        yield make
