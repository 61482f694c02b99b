"""Many runners that poll one gateway, while jobs come at a steady rate: how soon they get them, and what it costs."""

import asyncio
import json
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from paceline import NewJob, Queue
from paceline.testing import PostgresServer
from paceline.tokens import Tokens
from paceline_bench import histogram, scraped
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.gateway.door import Door, door
from paceline_bench.idle import transactions_per_second
from paceline_bench.measure import Measurement, percentile
from paceline_bench.process import Process, worker
from paceline_bench.server import connected
from paceline_bench.systems.paceline import POOL
from paceline_bench.templates import Templates
from paceline_bench.workers import pollers

CROWDS: Final = (50, 100, 500, 1_000)
RATE: Final = 200
"""Jobs a second."""
WRITES: Final = "paceline_db_write_seconds"
IN_VAIN: Final = "paceline_claims_failed_total"
WHAT: Final = {
    "p50": "ms", "p99": "ms", "cpu": "% of a core", "weight": "MB", "write": "ms", "failed": "requests",
    "vain": "runs", "idle": "transactions/s",
}  # fmt: skip
NAMES: Final = tuple(f"{what}_{count}" for count in CROWDS for what in WHAT)
PATIENCE: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How long."""

    rounds: int
    seconds: float
    """Of jobs."""
    rest: float
    """Without any."""


FULL: Final = Size(rounds=3, seconds=20, rest=15)
QUICK: Final = Size(rounds=1, seconds=5, rest=5)


async def measure(run: Run, server: PostgresServer, templates: Templates, size: Size) -> list[Measurement]:
    """One crowd after the other, each with a gateway and a database of its own."""
    found: list[Measurement] = []
    with run.report.task("runners that poll", size.rounds * len(CROWDS)) as task:
        for _ in range(size.rounds):
            for count in CROWDS:
                async with door(server, templates) as opened:
                    values = await _one(opened, count, size)
                found += [Measurement(f"{what}_{count}", value, WHAT[what]) for what, value in values.items()]
                task.advance(f"{count} runners: p99 {values['p99']:.0f} ms")
    return found


async def _one(opened: Door, count: int, size: Size) -> dict[str, float]:
    tokens = Tokens(opened.database)
    made = [await tokens.create("rk", pool=POOL, runner=f"runner-{number}") for number in range(count)]
    with tempfile.TemporaryDirectory(prefix="paceline-bench-") as folder:
        file = Path(folder) / "tokens"
        file.write_text(json.dumps(made))
        with Process(worker("pollers", "", opened.url, file)) as crowd:
            await said(crowd, pollers.READY, 1)
            async with connected(opened.database.address.url) as connection:
                idle = await transactions_per_second(connection, size.rest)
            before, cpu, began = await opened.metrics(), opened.cpu, time.monotonic()
            jobs = await steadily(partial(_enqueue, Queue(opened.database, POOL)), size.seconds, RATE)
            took = await said(crowd, pollers.TOOK, jobs)
            spent = (opened.cpu - cpu) / (time.monotonic() - began)
            after, failed = await opened.metrics(), crowd.lines(pollers.FAILED)
            weight = opened.weight
    vain = scraped.total(after, IN_VAIN) - scraped.total(before, IN_VAIN)
    writes = histogram.quantile(histogram.since(*(histogram.read(each, WRITES) for each in (before, after))), 0.95)
    return {
        "p50": statistics.median(took), "p99": percentile(took, 99), "cpu": 100 * spent, "weight": weight,
        "write": 1000 * (writes or 0), "failed": len(failed), "vain": vain, "idle": idle,
    }  # fmt: skip


async def _enqueue(queue: Queue) -> None:
    await queue.enqueue(NewJob(kind="noop", payload={"at": time.time()}))


async def steadily(enqueue: Callable[[], Awaitable[None]], seconds: float, rate: float) -> int:
    """One by one, as they come in life: at random, so many a second on average. How many it were."""
    pace, jobs = random.Random(0), 0  # noqa: S311 -- no secret; the same in every run
    began = due = time.monotonic()
    while due - began < seconds:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await enqueue()
        jobs += 1
        due += pace.expovariate(rate)
    return jobs


async def said(process: Process, word: str, times: int) -> list[float]:
    """Wait until it has said something so often; the first number each time."""
    deadline = time.monotonic() + PATIENCE
    while len(lines := process.lines(word)) < times:
        process.require()
        if time.monotonic() > deadline:
            raise NotMeasuredError(f"only {len(lines)} of {times} came")
        await asyncio.sleep(0.1)
    return list(_first(lines))


def _first(lines: Iterable[list[float]]) -> Iterable[float]:
    return (line[0] for line in lines)
