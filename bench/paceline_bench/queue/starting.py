"""From the enqueue of one job to the first line of its handler, for workers that have nothing else to do."""

import asyncio
import random
import time
from collections.abc import Sequence
from typing import Final

from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.life import Lives
from paceline_bench.measure import Measurement
from paceline_bench.process import Process, Start, worker
from paceline_bench.systems import System
from paceline_bench.templates import Templates
from paceline_bench.workers import told

PEERS: Final = ("pgqueuer", "chancy", "procrastinate", "saq")
NAMES: Final = ("start_paceline", *(f"start_{peer}" for peer in PEERS))
STAMP: Final = "stamp"
PATIENCE: Final = 30.0


async def measure(
    run: Run, server: PostgresServer, templates: Templates, lives: Lives, times: int
) -> list[Measurement]:
    """One after the other; each is woken by a notification, as it is by default."""
    # imported here: the tests of this package run where the peers are not installed
    from paceline_bench.systems import chancy, pgqueuer, procrastinate, saq

    found: list[Measurement] = []
    peers = (
        (pgqueuer.SYSTEM, (10, 1)),
        (chancy.SYSTEM, (10, 2, 1)),
        (procrastinate.SYSTEM, (10, 1, 1)),
        (saq.SYSTEM, (10, 2)),
    )
    with run.report.task("enqueue to start", len(NAMES)) as task:
        if run.wants("start_paceline"):
            found += await lives.start("start_paceline", listen=True)
            task.advance("Paceline")
        for system, arguments in peers:
            if run.wants(f"start_{system.name}"):
                template = await templates.full(system, 0)
                found += await starts(server, template, system, _start(system, arguments), times)
                task.advance(system.name)
    return found


def _start(system: System, arguments: Sequence[int]) -> Start:
    return lambda url: worker(system.name, url, *arguments)


async def starts(
    server: PostgresServer, template: str, system: System, command: Start, times: int
) -> list[Measurement]:
    """The worker says when each of its handlers began; it is the same machine, with the same clock."""
    pause = random.Random(0)  # noqa: S311 -- no secret; polls and our jobs must not march in step
    found = []
    async with server.database(template) as url, system.producer(url, STAMP) as produce:
        with Process(command(url)) as process:
            await produce(1)
            await _stamp(process, 1)  # connections and plans are there from now on
            for number in range(times):
                await asyncio.sleep(pause.uniform(0.1, 0.3))
                began = time.time()
                await produce(1)
                took = await _stamp(process, number + 2) - began
                found.append(Measurement(f"start_{system.name}", took * 1000, "ms"))
    return found


async def _stamp(process: Process, number: int) -> float:
    """What the handler of the n-th job said."""
    deadline = time.monotonic() + PATIENCE
    while len(said := process.lines(told.STAMP)) < number:
        process.require()
        if time.monotonic() > deadline:
            raise NotMeasuredError("a job did not start in time")
        await asyncio.sleep(0.005)
    return said[number - 1][0]
