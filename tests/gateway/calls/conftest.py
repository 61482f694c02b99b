"""Gateways and runners as processes of their own, which can be killed."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Self, TypeAlias

import httpx
import pytest

from gateway.conftest import Client, Site
from runner.process import RunnerProcess, StartRunner, starting
from support.forked import Awaited


class GatewayProcess(RunnerProcess):
    """`paceline gateway`, which closes without a pause when it is told to."""

    @classmethod
    async def serve(cls, url: str, **variables: str) -> Self:
        """Start it; it listens when this returns."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_")}
        environment = {
            **kept, "PACELINE_DATABASE_URL": url, "PACELINE_GATEWAY_LISTEN": "127.0.0.1:0",
            "PACELINE_LEAVE_SECONDS": "0", **variables,
        }  # fmt: skip
        started = cls(await Awaited.start("gateway", env=environment))
        await started.said("listening on")
        return started

    def client(self, token: str) -> Client:
        """Somebody who comes with a token."""
        headers = {"authorization": f"Bearer {token}"}
        return httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=60)


Serve: TypeAlias = Callable[..., Awaitable[GatewayProcess]]
Called: TypeAlias = Callable[[GatewayProcess], Awaitable[Client]]


@pytest.fixture
async def serve(site: Site) -> AsyncIterator[Serve]:
    """Start gateways; none of them outlives the test."""
    async with AsyncExitStack() as stack:

        async def make(url: str = site.url, **variables: str) -> GatewayProcess:
            gateway = await GatewayProcess.serve(url, **variables)
            stack.push_async_callback(gateway.end)
            return gateway

        yield make


@pytest.fixture
async def caller(site: Site) -> AsyncIterator[Called]:
    """A producer of the pool `builds`, at a gateway."""
    token = await site.tokens.create("pk", pool="builds")
    async with AsyncExitStack() as stack:

        async def make(gateway: GatewayProcess) -> Client:
            return await stack.enter_async_context(gateway.client(token))

        yield make


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Where handlers leave their marks."""
    return tmp_path


SOON = "6.5"
"""The stale threshold of a runner that is to be found lost."""


@pytest.fixture
async def start(migrated: str, scratch: Path) -> AsyncIterator[StartRunner]:
    """Start runners; none of them outlives the test, or is lost because the machine stands still."""
    async with starting(migrated, scratch) as make:
        yield partial(make, PACELINE_STALE_THRESHOLD_SECS="60")
