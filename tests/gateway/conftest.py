"""Gateways on ports of their own, in this process or as processes, with a database and tokens of each test's own."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from paceline.database import Database
from paceline.job import JobId
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.testing import PostgresServer
from paceline.tokens import Tokens
from paceline_gateway.app import create_app
from paceline_gateway.serve import bound, configured, leave
from paceline_gateway.settings import Settings
from support.pg import logins, migrated_template, one_server

Client: TypeAlias = httpx.AsyncClient


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """One server is enough here: tests/postgres proves the promises on each version."""
    return one_server(tmp_path_factory)


@pytest.fixture(scope="session")
def template(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    return migrated_template(tmp_path_factory, postgres)


@pytest.fixture
async def migrated(postgres: PostgresServer, template: str) -> AsyncIterator[str]:
    async with postgres.database(template) as url:
        yield url


@pytest.fixture
async def database(migrated: str) -> AsyncIterator[Database]:
    """The owner's."""
    async with await Database.open(migrated) as opened:
        yield opened


@pytest.fixture
def queue(database: Database) -> Queue:
    return Queue(database, "builds")


@pytest.fixture
def tokens(database: Database) -> Tokens:
    return Tokens(database)


def port_of(listeners: list[socket.socket]) -> int:
    """The one that the kernel chose: nobody else gets it meanwhile."""
    return int(listeners[0].getsockname()[1])


@dataclass
class Site:
    """Where gateways run; each has a login that may do what a gateway must, and no more."""

    url: str
    tokens: Tokens
    gateways: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    served: list[tuple[FastAPI, uvicorn.Server]] = field(default_factory=list)

    async def start(self, **settings: Any) -> str:
        """One more gateway; its address."""
        listeners = bound("127.0.0.1", 0)
        port = port_of(listeners)
        chosen = Settings(database_url=self.url, host="127.0.0.1", port=port, **settings)
        app = create_app(chosen)
        server = uvicorn.Server(configured(app, chosen))
        serving = asyncio.create_task(server.serve(listeners))

        async def stop() -> None:
            await leave(app, server)
            await serving

        self.gateways.push_async_callback(stop)
        self.served.append((app, server))
        while not server.started:
            if serving.done():
                serving.result()
            await asyncio.sleep(0.01)
        return f"http://127.0.0.1:{port}"

    async def client(self, address: str, token: str) -> Client:
        """Somebody who comes with a token."""
        headers = {"authorization": f"Bearer {token}"}
        return await self.gateways.enter_async_context(httpx.AsyncClient(base_url=address, headers=headers, timeout=40))


@pytest.fixture
async def site(database: Database, migrated: str, tokens: Tokens) -> AsyncIterator[Site]:
    async with logins(database, migrated) as login_url:
        made = Site(await login_url("gateway"), tokens)
        async with made.gateways:
            yield made


@pytest.fixture
async def address(site: Site) -> str:
    """A gateway."""
    return await site.start()


@pytest.fixture
async def producer(site: Site, address: str) -> Client:
    """Somebody who may enqueue into the pool `builds` at it."""
    return await site.client(address, await site.tokens.create("pk", pool="builds"))


@pytest.fixture
async def runner(site: Site, address: str) -> Client:
    """The runner `laptop` of that pool."""
    return await site.client(address, await site.tokens.create("rk", pool="builds", runner="laptop"))


@pytest.fixture
async def admin(site: Site, address: str) -> Client:
    return await site.client(address, await site.tokens.create("ak"))


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes back after its socket dropped has the rest of its lease for that."""
    monkeypatch.setattr("paceline.dialled.RESUME", timedelta(minutes=5))


async def until(true: Callable[[], Awaitable[object]]) -> None:
    """Wait for something that nobody tells."""
    while not await true():  # noqa: ASYNC110 -- the database does not say when
        await asyncio.sleep(0.01)


async def state(queue: Queue, job: int) -> str:
    """Of a job."""
    seen = await Reader(queue.database).job_detail(JobId(job))
    assert seen is not None
    return seen.state


Registered: TypeAlias = Callable[..., Awaitable[int]]


@pytest.fixture
def register(runner: Client) -> Registered:
    """Register the runner; its incarnation."""

    async def make(**hello: Any) -> int:
        answer = await runner.post("/runner/register", json={"kinds": ["*"], "slots": 2, **hello})
        assert answer.status_code == 200, answer.text
        return int(answer.json()["incarnation"])

    return make
