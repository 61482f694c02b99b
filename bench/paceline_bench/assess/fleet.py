"""The runners of a station: real processes while there are few, and many in a process above that.

One slot each, and jobs that take no time: no batch hides a claim, and whoever has finished asks again.
"""

import asyncio
import contextlib
import itertools
import json
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
import psutil

from paceline.testing.scratch import free_ports
from paceline.tokens import Tokens
from paceline_bench import scraped
from paceline_bench.assess.place import Place, end
from paceline_bench.assess.plan import gated, real
from paceline_bench.errors import NotMeasuredError
from paceline_bench.paceline_command import RunnerCommand
from paceline_bench.process import Command, Process, worker
from paceline_bench.server import connected
from paceline_bench.systems.paceline import POOL
from paceline_bench.workers import dispatchers, pollers

SHARE: Final = 250
"""So many runners share a process."""
PATIENCE: Final = 300.0
"""Fifty processes begin on two cores that have other things to do."""
ACTIVE: Final = "SELECT count(*) FROM paceline.incarnation WHERE state = 'a'"


@dataclass(frozen=True, slots=True)
class Counts:
    """What runners say of themselves, since they began."""

    steps: float = 0
    """How often they asked for jobs."""
    claimed: float = 0
    refused: float = 0
    """Results that came too late: the job was somebody else's."""
    lost: float = 0
    """Leases."""

    def since(self, before: "Counts") -> "Counts":
        """What has come since."""
        return Counts(
            self.steps - before.steps, self.claimed - before.claimed, self.refused - before.refused,
            self.lost - before.lost,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fleet:
    """Those that are there."""

    processes: Sequence[Process]
    ports: Sequence[int] = ()
    """Where real ones are asked."""

    def require(self) -> None:
        """Complain if one has ended."""
        for each in self.processes:
            each.require()

    def cpu(self) -> float:
        """The seconds that all of them have computed; none has a child that works."""
        own = (psutil.Process(each.pid).cpu_times() for each in self.processes)
        return sum(each.user + each.system for each in own)

    async def counts(self) -> Counts:
        """All together; those that poll say nothing, their gateway does."""
        if self.ports:
            async with aiohttp.ClientSession() as session:
                texts = await asyncio.gather(*(_metrics(session, port) for port in self.ports))
            names = [f"paceline_runner_{name}" for name in dispatchers.NAMES]
            return Counts(*(sum(scraped.total(text, name) for text in texts) for name in names))
        said = [lines[-1] for each in self.processes if (lines := each.lines(dispatchers.COUNTS))]
        return Counts(*map(sum, zip(*said, strict=True))) if said else Counts()


async def _metrics(session: aiohttp.ClientSession, port: int) -> str:
    async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
        return await answer.text()


@contextlib.asynccontextmanager
async def fleet(place: Place, runners: int) -> AsyncIterator[Fleet]:
    """So many, from the moment at which all are registered to the end of the block."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="paceline-bench-")))
        ports = free_ports(runners) if real(runners) else []
        commands = await _commands(place, runners, ports, folder)
        found = Fleet([_begin(stack, each) for each in commands], ports)
        async with connected(place.url) as connection:

            async def registered() -> bool:
                found.require()
                return bool(await connection.fetchval(ACTIVE) == runners)

            await until(registered, f"{runners} runners")
        if not ports:
            await _until_ready(found, place, runners)
        yield found


def _begin(stack: contextlib.ExitStack, command: Command) -> Process:
    """It is killed at the end: its database goes with it, and to let fifty of them drain takes a minute."""
    process = stack.enter_context(Process(command))
    stack.callback(end, process)
    return process


async def _commands(place: Place, runners: int, ports: Sequence[int], folder: Path) -> list[Command]:
    if not gated(place.way):
        if ports:
            return [RunnerCommand(port=port).on(place.runners_url) for port in ports]
        return [worker("dispatchers", place.runners_url, first, number) for first, number in shares(runners)]
    tokens = Tokens(place.producers)
    made = [await tokens.create("rk", pool=POOL, runner=f"dialled-{each}") for each in range(runners)]
    urls = [door.url for door in place.doors]
    if ports:
        pairs = zip(ports, itertools.cycle(urls), made, strict=False)
        return [RunnerCommand(port=port).dialling(url, token) for port, url, token in pairs]
    return list(_pollers(urls, made, folder))


def _pollers(urls: Sequence[str], tokens: Sequence[str], folder: Path) -> Iterator[Command]:
    """Every gateway has as many as the others."""
    for place, url in enumerate(urls):
        own = tokens[place :: len(urls)]
        for first, number in shares(len(own)):
            file = folder / f"{place}-{first}"
            file.write_text(json.dumps(own[first : first + number]))
            yield worker("pollers", "", url, file)


def shares(runners: int) -> list[tuple[int, int]]:
    """The first of each process, and how many it has."""
    return [(first, min(SHARE, runners - first)) for first in range(0, runners, SHARE)]


async def _until_ready(found: Fleet, place: Place, runners: int) -> None:
    """All processes have begun to work; those that should be told of jobs are."""
    word = pollers.READY if gated(place.way) else dispatchers.READY

    for each in found.processes:
        await said(each, word)
    told = sum(each.lines(word)[0][0] for each in found.processes)
    if told != (0 if place.way == "bounced" else runners):
        raise NotMeasuredError(f"{told:.0f} of {runners} runners are told of work")


async def said(process: Process, word: str) -> None:
    """Wait until it has, for the first time."""

    async def heard() -> bool:
        process.require()
        return bool(process.lines(word))

    await until(heard, "its first words")


async def until(condition: Callable[[], Awaitable[bool]], what: str, seconds: float = PATIENCE) -> None:
    """Look again and again."""
    deadline = time.monotonic() + seconds
    while not await condition():
        if time.monotonic() > deadline:
            raise NotMeasuredError(f"{what} were not there in time")
        await asyncio.sleep(0.1)
