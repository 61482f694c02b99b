"""A real gateway as a process, on a database of its own."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import aiohttp
import psutil

from paceline.database import Database
from paceline.testing import PostgresServer
from paceline.testing.scratch import free_ports
from paceline_bench.errors import NotMeasuredError
from paceline_bench.paceline_command import PROGRAM
from paceline_bench.process import Command, Process
from paceline_bench.systems.paceline import SYSTEM
from paceline_bench.templates import Templates

PATIENCE: Final = 30.0


@dataclass(frozen=True, slots=True)
class Door:
    """One that serves."""

    url: str
    database: Database
    process: Process

    @property
    def weight(self) -> float:
        """Its resident memory in MB."""
        return float(psutil.Process(self.process.pid).memory_info().rss / 1e6)

    @property
    def cpu(self) -> float:
        """The seconds that it has computed so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    async def metrics(self) -> str:
        """What it says of itself."""
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/metrics") as answer:
            return await answer.text()


@contextlib.asynccontextmanager
async def door(server: PostgresServer, templates: Templates) -> AsyncIterator[Door]:
    """Until the end of the block; its database is empty at first."""
    template = await templates.full(SYSTEM, 0)
    async with (
        server.database(template) as url,
        await Database.open(url, size=4, application="bench") as database,
        gateway(url, database) as opened,
    ):
        yield opened


@contextlib.asynccontextmanager
async def gateway(url: str, database: Database) -> AsyncIterator[Door]:
    """One more on a database that is there."""
    (port,) = free_ports(1)
    command = Command((*PROGRAM, "gateway", "--listen", f"127.0.0.1:{port}"), {"PACELINE_DATABASE_URL": url})
    with Process(command) as process:
        await until_it_answers(f"http://127.0.0.1:{port}/health/ready", process)
        yield Door(f"http://127.0.0.1:{port}", database, process)


async def until_it_answers(url: str, process: Process) -> None:
    """Wait for a server that starts."""
    deadline = time.monotonic() + PATIENCE
    async with aiohttp.ClientSession() as session:
        while True:
            process.require()
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(url) as answer:
                    if answer.ok:
                        return
            if time.monotonic() > deadline:
                raise NotMeasuredError("the server did not answer in time")
            await asyncio.sleep(0.05)
