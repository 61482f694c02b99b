"""A runner's token, and gateways that are processes."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Self, TypeAlias

import httpx
import pytest

from gateway.conftest import Site
from support.forked import Awaited

PATIENCE = 50
LISTENS = re.compile(rb"listening on (127\.0\.0\.1:\d+)")


@pytest.fixture
async def token(site: Site) -> str:
    """Of the runner `laptop` of the pool `builds`."""
    return await site.tokens.create("rk", pool="builds", runner="laptop")


class GatewayProcess:
    """`paceline gateway`."""

    def __init__(self, process: Awaited) -> None:
        self.process, self.address = process, ""

    @classmethod
    async def start(cls, url: str, *words: str) -> Self:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_")}
        words = ("--listen", "127.0.0.1:0", *words)
        process = await Awaited.start("gateway", *words, env={**kept, "PACELINE_DATABASE_URL": url})
        made = cls(process)
        await made.ready()
        return made

    async def ready(self) -> None:
        async with asyncio.timeout(PATIENCE), httpx.AsyncClient() as client:
            while not (place := LISTENS.search(await self.process.stderr.readline())):
                assert not self.process.stderr.at_eof(), "it has ended"
            self.address = f"http://{place[1].decode()}"
            while True:
                assert self.process.returncode is None, "it has ended"
                with contextlib.suppress(httpx.TransportError):
                    if (await client.get(f"{self.address}/health/ready")).status_code == 200:
                        return
                await asyncio.sleep(0.1)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ended(self) -> int:
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


StartProcess: TypeAlias = Callable[..., Awaitable[GatewayProcess]]


@pytest.fixture
async def gateway_process(site: Site) -> AsyncIterator[StartProcess]:
    """As many as are asked for; what is left of them is killed."""
    started: list[GatewayProcess] = []

    async def start(*words: str) -> GatewayProcess:
        started.append(await GatewayProcess.start(site.url, *words))
        return started[-1]

    yield start
    for each in started:
        if each.process.returncode is None:
            each.process.kill()
            await each.process.wait()
