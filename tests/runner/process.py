"""A runner in a process of its own, as a user starts it, and what can be seen of it from outside."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Protocol, Self

import aiohttp

from paceline.job import JobId
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.seen import Attempt, JobDetail
from support.forked import Awaited

APPS = Path(__file__).parent / "apps"
SHORT = {"PACELINE_HEARTBEAT_INTERVAL_SECS": "0.5", "PACELINE_STALE_THRESHOLD_SECS": "6.5"}
"""The shortest lease that the heartbeat allows: it gives up its jobs after 3.5 s of silence."""
LONG = {"PACELINE_HEARTBEAT_INTERVAL_SECS": "1", "PACELINE_STALE_THRESHOLD_SECS": "120"}
"""For whoever is not to lose anything: no standstill of a machine is so long."""
SHORT_LEASE = ("--heartbeat-interval", "0.5", "--stale-threshold", "6.5")
"""Words that make it short again."""
MEDIUM_LEASE = ("--heartbeat-interval", "2", "--stale-threshold", "12")
"""For whoever outlives it: nine seconds of silence, and two until a heartbeat is answered."""
PATIENCE = 45
LISTENS = re.compile(r"listening on \S*:(\d+)")


class RunnerProcess:
    """`paceline run` with its log, its port and its end."""

    def __init__(self, process: asyncio.subprocess.Process | Awaited, port: int = 0) -> None:
        self.process = process
        self.port = port
        """0 until it has said on which one it listens."""
        self.lines: list[str] = []
        self._news = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, url: str, scratch: Path, name: str, *words: str, **variables: str) -> Self:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_")}
        environment = {
            **kept, **SHORT, "PACELINE_DATABASE_URL": url, "PACELINE_POOL": "builds", "PACELINE_APP": "shop:jobs",
            "PACELINE_NODE_ID": name, "PACELINE_LISTEN": "127.0.0.1:0", "SCRATCH": str(scratch), **variables,
        }  # fmt: skip
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "paceline_cli", "run", *words,
            env=environment, cwd=APPS, stderr=asyncio.subprocess.PIPE, limit=2**24, start_new_session=True,
        )  # fmt: skip
        return cls(process)

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            async with self._news:
                self.lines.append(line.decode(errors="replace").rstrip())
                if not self.port and (found := LISTENS.search(self.lines[-1])):
                    self.port = int(found[1])
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def log(self) -> str:
        return "\n".join(self.lines)

    async def said(self, text: str, times: int = 1) -> dict[str, object]:
        """Wait for the line with that text."""
        try:
            async with asyncio.timeout(PATIENCE), self._news:
                while len(found := [line for line in self.lines if text in line]) < times:
                    assert not self._reader.done(), f"it ended without saying {text!r}:\n{self.log}"
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"it never said {text!r}:\n{self.log}") from None
        parsed: dict[str, object] = json.loads(found[-1])
        return parsed

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):  # on a machine that stood still it may have let go before
            self.process.send_signal(number)

    async def ended(self, seconds: float = PATIENCE) -> int:
        """Its exit code, once it has ended and its log is read."""
        try:
            async with asyncio.timeout(seconds):
                code = await self.process.wait()
                await asyncio.wait([self._reader])
        except TimeoutError:
            raise AssertionError(f"it does not end:\n{self.log}") from None
        return code

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # the group: a copy that a handler forked goes too
            os.killpg(self.pid, signal.SIGKILL)
        await self.process.wait()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        if not self.port:
            await self.said("listening on")
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE)) as session,
            session.request(method, f"http://127.0.0.1:{self.port}{path}") as answer,
        ):
            return answer.status, await answer.text()

    async def steps(self) -> float:
        """How often it has asked for work."""
        _, text = await self.get("/metrics")
        (line,) = [each for each in text.splitlines() if each.startswith("paceline_runner_claim_seconds_count")]
        return float(line.split()[-1])


class StartRunner(Protocol):
    """Starts a runner of the pool `builds`."""

    async def __call__(
        self, name: str = "r1", *words: str, url: str = ..., wait: bool = True, **variables: str
    ) -> RunnerProcess:
        """Words and variables are those of `paceline run`; it has registered when this returns, unless `wait=False`."""


@contextlib.asynccontextmanager
async def starting(database_url: str, scratch: Path, **common: str) -> AsyncIterator[StartRunner]:
    """Start runners, all with some variables in common; none of them outlives the block."""
    async with contextlib.AsyncExitStack() as stack:

        async def make(
            name: str = "r1", *words: str, url: str = database_url, wait: bool = True, **variables: str
        ) -> RunnerProcess:
            runner = await RunnerProcess.start(url, scratch, name, *words, **{**common, **variables})
            stack.push_async_callback(runner.end)
            if wait:
                await runner.said("registered as")
            return runner

        yield make


async def seen(queue: Queue, job: JobId) -> JobDetail:
    """Where a job stands."""
    found = await Reader(queue.database).job_detail(job)
    assert found is not None
    return found


async def eventually(true: Callable[[], Awaitable[object]], what: str, seconds: float = PATIENCE) -> None:
    """Wait for something that only asking again can tell."""
    end = time.monotonic() + seconds
    while not await true():
        assert time.monotonic() < end, f"it never came to this: {what}"
        await asyncio.sleep(0.02)


async def until(queue: Queue, job: JobId, *states: str, seconds: float = PATIENCE) -> JobDetail:
    """Wait until a job is in one of the states."""
    found: list[JobDetail] = []

    async def is_there() -> bool:
        found.append(await seen(queue, job))
        return found[-1].state in states

    await eventually(is_there, f"job {job} is {' or '.join(states)}", seconds)
    return found[-1]


async def attempts(queue: Queue, job: JobId) -> list[Attempt]:
    """The attempts on record, newest first."""
    return await Reader(queue.database).job_attempts(job)


async def there(path: Path) -> str:
    """Wait until a handler has made a file, and read it."""

    async def is_there() -> bool:
        return path.exists() and bool(path.read_text())  # noqa: ASYNC240 -- tiny, and nobody else waits

    await eventually(is_there, f"{path.name} is written")
    return path.read_text()  # noqa: ASYNC240 -- see above
