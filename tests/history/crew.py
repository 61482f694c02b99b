"""The runners of a run: each a real process behind a proxy of its own, hit by the faults of the plan one by one."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable
from typing import assert_never

from history.events import Exit
from history.plan import LEASE, TOLERATION, Blow, Fault
from history.site import Site
from runner.process import RunnerProcess
from support.proxy import Proxy

PATIENCE = 90
"""Seconds for a runner to start (2 s) or to leave (its drain takes 2 s); the database may be away meanwhile."""


class Seat:
    """The place of one Runner: whatever happens to its process, another takes it."""

    def __init__(self, name: str, between: Proxy, site: Site, start: Callable[[], Awaitable[RunnerProcess]]) -> None:
        self.name = name
        self.exits: list[Exit] = []
        self.stopped: dict[int, float] = {}
        self._between, self._site, self._start = between, site, start
        self._process: RunnerProcess | None = None
        self._sent: list[str] = []

    async def live(self, blows: tuple[Blow, ...], over: asyncio.Event) -> None:
        """Work, and be hit; then work on until the run is over. A process that ends by itself is replaced."""
        for blow in blows:
            if not blow.early:
                await self._registered()
            await self._work(asyncio.create_task(asyncio.sleep(blow.gap)))
            self._site.say(f"{self.name} {blow.fault}")
            await self._suffer(blow)
        self._site.spared(self.name)
        await self._work(asyncio.create_task(over.wait()))

    async def end(self) -> None:
        if self._process:
            await self._process.end()

    async def _work(self, until: "asyncio.Task[object]") -> None:
        while True:
            process = await self._up()
            ended = asyncio.create_task(process.process.wait())
            try:
                await asyncio.wait({ended, until}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                ended.cancel()
            if until.done():
                return

    async def _registered(self) -> None:
        """Wait until it can work; one that ends before is replaced."""
        end = time.monotonic() + PATIENCE
        while True:
            process = await self._up()
            try:
                await process.said("registered as")
            except AssertionError:
                if time.monotonic() > end:
                    raise
            else:
                return

    async def _up(self) -> RunnerProcess:
        if self._process and self._process.process.returncode is not None:
            await self._gone()
        if self._process is None:
            self._process = await self._start()
        return self._process

    def _send(self, number: signal.Signals) -> None:
        assert self._process
        self._sent.append(number.name)
        with contextlib.suppress(ProcessLookupError):
            self._process.send(number)

    async def _gone(self) -> None:
        """Wait for the end of the process, and write down how it ended."""
        assert self._process
        code = await self._process.ended(PATIENCE)
        self.exits.append(Exit(runner=self.name, pid=self._process.pid, code=code, signals=tuple(self._sent)))
        await self._process.end()
        self._process, self._sent = None, []

    async def _leaves_within(self, seconds: float) -> None:
        """Usually it does; one that loses its registration meanwhile may register anew and stay."""
        assert self._process
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.process.wait(), seconds)

    async def _suffer(self, blow: Blow) -> None:
        process = await self._up()
        longer_than_the_lease = LEASE + blow.seconds
        match blow.fault:
            case Fault.KILL:
                self._send(signal.SIGKILL)
                await self._gone()
            case Fault.KILL_AND_WAIT:
                self._send(signal.SIGKILL)
                await self._gone()
                await asyncio.sleep(longer_than_the_lease)
            case Fault.KILL_AND_FENCE:
                self._send(signal.SIGKILL)
                await self._gone()
                await self._site.fence(self.name)
            case Fault.STOP:
                self.stopped[process.pid] = time.monotonic()
                self._send(signal.SIGSTOP)
                await asyncio.sleep(longer_than_the_lease)
                self._send(signal.SIGCONT)
            case Fault.CUT:
                self._between.cut()
            case Fault.SWALLOW:
                self._between.swallow()
                await asyncio.sleep(longer_than_the_lease)
                self._between.refuse(False)
            case Fault.REFUSE:
                self._between.refuse()
                self._between.cut()
                await asyncio.sleep(2 * blow.seconds)
                self._between.refuse(False)
            case Fault.TERM:
                self._send(signal.SIGTERM)
                await self._gone()
            case Fault.DRAIN:
                if await self._site.drain(self.name):
                    await self._leaves_within(longer_than_the_lease)
            case Fault.DRAIN_TAINT:
                await self._site.taint(self.name, "leave", "Drain")
                await self._leaves_within(longer_than_the_lease)
                await self._site.untaint(self.name)
            case Fault.NO_CLAIM:
                await self._site.taint(self.name, TOLERATION, "NoClaim")
                await asyncio.sleep(blow.seconds)
                await self._site.untaint(self.name)
            case _:
                assert_never(blow.fault)
