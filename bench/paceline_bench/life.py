"""The life of one real runner: how soon it works, what it weighs, how soon a job begins, how soon it leaves."""

import asyncio
import contextlib
import http.client
import random
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import psutil

from paceline import Queue
from paceline.testing import PostgresServer
from paceline.testing.scratch import free_ports
from paceline_bench import paceline_command
from paceline_bench.deaf import deaf
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement
from paceline_bench.paceline_command import PROGRAM, RunnerCommand
from paceline_bench.process import Process
from paceline_bench.server import connected
from paceline_bench.systems.paceline import POOL, SYSTEM
from paceline_bench.templates import Templates

if TYPE_CHECKING:
    import asyncpg

IDLE_SECONDS: Final = 5.0
PATIENCE: Final = 30.0
"""For anything that should take a second at most."""
FIRST_CLAIM: Final = """
SELECT extract(epoch FROM min(claimed_at))::float8
  FROM (SELECT claimed_at FROM paceline.job UNION ALL SELECT claimed_at FROM paceline.history) every_job"""
BEGAN: Final = "SELECT (result #>> '{}')::float8 FROM paceline.history WHERE id = $1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How often each is done."""

    boots: int
    drains: int
    starts_listen: int
    starts_poll: int


FULL: Final = Size(boots=5, drains=5, starts_listen=200, starts_poll=100)
QUICK: Final = Size(boots=2, drains=2, starts_listen=20, starts_poll=4)


@dataclass(frozen=True, slots=True)
class Idle:
    """A runner without work, and where to find it."""

    url: str
    process: Process
    port: int


class Lives:
    """Measures runners, each on a database of its own."""

    def __init__(
        self, server: PostgresServer, templates: Templates, size: Size, program: Sequence[str] = PROGRAM
    ) -> None:
        """Nothing is started yet."""
        self._server = server
        self._templates = templates
        self._size = size
        self._program = program

    async def boot(self) -> list[Measurement]:
        """Seconds from exec to the moment at which the database gave the runner a job that was waiting."""
        paceline_command.require(self._program)
        template = await self._templates.full(SYSTEM, 1)
        found = []
        for _ in range(self._size.boots):
            async with self._server.database(template) as url, connected(url) as connection:
                began = time.time()
                with Process(self._command().on(url)) as process:
                    claimed = await _until(connection, process, FIRST_CLAIM)
                found.append(Measurement("exec_to_first_claim", claimed - began, "s"))
        return found

    async def memory(self) -> list[Measurement]:
        """Resident memory of a runner that has had nothing to do for a while."""
        async with self.idle() as idle:
            await asyncio.sleep(IDLE_SECONDS)
            idle.process.require()
            runner = psutil.Process(idle.process.pid)
            own = runner.memory_info().rss / 1e6
            others = sum(child.memory_info().rss for child in runner.children(recursive=True)) / 1e6
        return [Measurement("idle_rss", own, "MB"), Measurement("idle_rss_with_children", own + others, "MB")]

    async def leave(self) -> list[Measurement]:
        """Milliseconds from POST /drain to the end of the process."""
        found = []
        for _ in range(self._size.drains):
            async with self.idle() as idle:
                took = await asyncio.to_thread(_drain, idle.process, idle.port)
            found.append(Measurement("drain_to_exit", took * 1000, "ms"))
        return found

    async def start(self, name: str, *, listen: bool) -> list[Measurement]:
        """Milliseconds from before the enqueue to the first line of the handler; each job finds the runner idle."""
        found = []
        pause = random.Random(0)  # noqa: S311 -- no secret; the runner's polls and our jobs must not march in step
        async with self.idle(listen=listen) as idle, connected(idle.url) as connection:
            queue = await Queue.connect(idle.url, POOL, connections=1)
            try:
                first = await queue.enqueue("stamp")
                await _until(
                    connection, idle.process, BEGAN, first.id
                )  # connections, plans and lanes are there from now on
                for _ in range(self._size.starts_listen if listen else self._size.starts_poll):
                    await asyncio.sleep(pause.uniform(0.05, 0.15) if listen else pause.uniform(0.1, 1.1))
                    began = time.time()
                    job = await queue.enqueue("stamp")
                    started = await _until(connection, idle.process, BEGAN, job.id)
                    found.append(Measurement(name, (started - began) * 1000, "ms"))
            finally:
                await queue.close()
        return found

    @contextlib.asynccontextmanager
    async def idle(self, *, listen: bool = True) -> AsyncIterator[Idle]:
        """A runner that is ready and has nothing to do."""
        paceline_command.require(self._program)
        command = self._command()
        async with contextlib.AsyncExitStack() as stack:
            url = await stack.enter_async_context(self._server.database(await self._templates.full(SYSTEM, 0)))
            listen_url = url if listen else await stack.enter_async_context(deaf(url))
            process = stack.enter_context(Process(command.on(url, listen_url)))
            deadline = time.monotonic() + PATIENCE
            while not await asyncio.to_thread(_ready, process, command.port):
                process.require()
                if time.monotonic() > deadline:
                    raise NotMeasuredError("it did not become ready in time")
                await asyncio.sleep(0.05)
            yield Idle(url, process, command.port)

    def _command(self) -> RunnerCommand:
        return RunnerCommand(program=self._program, port=free_ports(1)[0], slots=10, batch=10)


async def _until(
    connection: "asyncpg.Connection[asyncpg.Record]", process: Process, query: str, *arguments: object
) -> float:
    """The first value that is not NULL."""
    statement = await connection.prepare(query)
    deadline = time.monotonic() + PATIENCE
    while (value := await statement.fetchval(*arguments)) is None:
        process.require()
        if time.monotonic() > deadline:
            raise NotMeasuredError("nothing happened in time")
        await asyncio.sleep(0.01)
    return float(value)


def _ready(process: Process, port: int) -> bool:
    """Whether it answers, and not somebody else who was given the same port."""
    with contextlib.suppress(psutil.NoSuchProcess):
        runner = psutil.Process(process.pid)
        listening = [each.laddr.port for each in runner.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
        return port in listening and _answers(port)
    return False


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _drain(process: Process, port: int) -> float:
    """Seconds; the answer is not waited for, only the end."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        began = time.perf_counter()
        connection.request("POST", "/drain")
        if not process.wait(PATIENCE):
            raise NotMeasuredError("it did not leave in time")
        return time.perf_counter() - began
    finally:
        connection.close()
