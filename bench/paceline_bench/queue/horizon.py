"""Throughput while another session holds an old snapshot, so that nothing that is finished can be cleaned up.

It is told for Paceline as it is, for Paceline whose low-water marks are never moved, and for PgQueuer. Each worker
counts what it has done, four times a second.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Curve, Measurement
from paceline_bench.process import Process, worker
from paceline_bench.queue import contents
from paceline_bench.server import connected
from paceline_bench.systems import System
from paceline_bench.templates import Templates
from paceline_bench.workers import told

RATE: Final = "jobs/s"
CONNECTIONS: Final = 4
LAST: Final = 2.0
"""Seconds at the end that are told apart: what it has come to."""
PATIENCE: Final = 30.0
NO_MARKS: Final = "UPDATE paceline.tick SET mark_at = 'infinity'"
CASES: Final = ("free", "held", "unmarked", "pgqueuer_free", "pgqueuer_held")
NAMES: Final = tuple(f"horizon_{case}{part}" for case in CASES for part in ("", "_last"))
CURVES: Final = tuple(f"horizon_{case}_curve" for case in CASES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much there is to do, and for how long it is done."""

    jobs: int
    jobs_pgqueuer: int
    seconds: float
    rounds: int


FULL: Final = Size(jobs=2_400_000, jobs_pgqueuer=700_000, seconds=30, rounds=2)
QUICK: Final = Size(jobs=400_000, jobs_pgqueuer=100_000, seconds=5, rounds=1)


@dataclass(frozen=True, slots=True)
class Case:
    """Who works, and what stands in the way."""

    name: str
    system: System
    module: str
    held: bool
    before: str | None = None
    """A statement that makes it so."""
    batch: int = 50


def cases() -> list[Case]:
    """In the order of each round."""
    # imported here: the tests of this package run where the peers are not installed
    from paceline_bench.systems import paceline, pgqueuer

    return [
        Case("free", paceline.SYSTEM, "sdk", held=False),
        Case("held", paceline.SYSTEM, "sdk", held=True),
        Case("unmarked", paceline.SYSTEM, "sdk", held=True, before=NO_MARKS),
        Case("pgqueuer_free", pgqueuer.SYSTEM, "pgqueuer", held=False),
        Case("pgqueuer_held", pgqueuer.SYSTEM, "pgqueuer", held=True),
    ]


async def measure(run: Run, server: PostgresServer, templates: Templates, size: Size) -> list[Measurement]:
    """In turns; the curve of the last round is kept."""
    found: list[Measurement] = []
    wanted = [each for each in cases() if run.wants(f"horizon_{each.name}") or run.wants(f"horizon_{each.name}_last")]
    with run.report.task("throughput under a held snapshot", size.rounds * len(wanted)) as task:
        for _ in range(size.rounds):
            for each in wanted:
                jobs = size.jobs if each.module == "sdk" else size.jobs_pgqueuer
                template = await templates.full(each.system, jobs, partial(_fill, each.system))
                counts = await work(server, template, each, size.seconds)
                whole, last = rates(counts)
                run.curves[f"horizon_{each.name}_curve"] = curve(f"horizon_{each.name}_curve", counts)
                found += [
                    Measurement(f"horizon_{each.name}", whole, RATE),
                    Measurement(f"horizon_{each.name}_last", last, RATE),
                ]
                task.advance(f"{each.name} {whole:,.0f}/s, at the end {last:,.0f}/s")
    return found


async def _fill(system: System, url: str, jobs: int) -> None:
    """By copying: a million jobs in seconds."""
    await contents.fill(url, system, jobs)


async def work(server: PostgresServer, template: str, case: Case, seconds: float) -> Sequence[tuple[float, float]]:
    """Let it work for so long; what it had done at each moment, from the first job on."""
    async with server.database(template) as url, connected(url) as connection, _snapshot(url, held=case.held):
        if case.before:
            await connection.execute(case.before)
        await connection.execute("CHECKPOINT")
        with Process(worker(case.module, url, case.batch, CONNECTIONS)) as process:
            deadline = time.monotonic() + PATIENCE
            while not (counts := [each for each in process.lines(told.COUNT) if each[1] > 0]):
                process.require()
                if time.monotonic() > deadline:
                    raise NotMeasuredError(f"{case.name}: no job was done in time")
                await asyncio.sleep(told.INTERVAL)
            while counts[-1][0] - counts[0][0] < seconds:
                process.require()
                await asyncio.sleep(told.INTERVAL)
                counts = [each for each in process.lines(told.COUNT) if each[1] > 0]
        left = f"SELECT EXISTS (SELECT FROM {case.system.table} WHERE {case.system.pending})"
        if not await connection.fetchval(left):
            raise NotMeasuredError(f"{case.name}: it ran out of jobs, so its last seconds say nothing")
    began = counts[0][0]
    return [(at - began, jobs) for at, jobs in counts]


def rates(counts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Jobs per second over the whole time, and in the last seconds."""
    end, done = counts[-1]
    since, before = next(each for each in reversed(counts) if each[0] <= end - LAST)
    return (done - counts[0][1]) / (end - counts[0][0]), (done - before) / (end - since)


def curve(name: str, counts: Sequence[tuple[float, float]]) -> Curve:
    """The rate second by second."""
    points = []
    at, before = counts[0]
    for moment, jobs in counts[1:]:
        if moment - at >= 1:
            points.append((at, (jobs - before) / (moment - at)))
            at, before = moment, jobs
    return Curve(name, RATE, tuple(points))


@contextlib.asynccontextmanager
async def _snapshot(url: str, *, held: bool) -> AsyncIterator[None]:
    """Another session with an old snapshot, which is what a long report or a forgotten transaction is."""
    async with connected(url) as connection:
        if held:
            await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            await connection.fetchval("SELECT count(*) FROM pg_class")
        yield
