"""How fast jobs are enqueued: one after the other, and by the thousand, on one connection."""

from collections.abc import Sequence
from typing import Final

from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement
from paceline_bench.process import Process, worker
from paceline_bench.server import connected
from paceline_bench.systems import CHUNK, System
from paceline_bench.templates import Templates

SYSTEMS: Final = ("raw", "paceline", "pgqueuer", "chancy", "procrastinate", "saq")
MANY: Final = {"chancy": 2_000, "procrastinate": 5_000, "saq": 1_000}
"""Those that are slow in batches get fewer; the others 50,000."""
NAMES: Final = tuple(f"enqueue_{kind}_{name}" for kind in ("one", "many") for name in SYSTEMS)
SECONDS: Final = 120.0


def systems() -> Sequence[System]:
    """All that are compared."""
    # imported here: the tests of this package run where the peers are not installed
    from paceline_bench.systems import chancy, paceline, pgqueuer, procrastinate, raw, saq

    return [each.SYSTEM for each in (raw, paceline, pgqueuer, chancy, procrastinate, saq)]


async def measure(
    run: Run, server: PostgresServer, templates: Templates, rounds: int, singles: int, many: int
) -> list[Measurement]:
    """In turns."""
    found: list[Measurement] = []
    planned = [
        (f"enqueue_{kind}_{system.name}", system, batch, jobs)
        for system in systems()
        for kind, batch, jobs in (("one", 1, singles), ("many", CHUNK, min(many, MANY.get(system.name, many))))
        if run.wants(f"enqueue_{kind}_{system.name}")
    ]
    with run.report.task("enqueue", rounds * len(planned)) as task:
        for _ in range(rounds):
            for name, system, batch, jobs in planned:
                rate = await enqueue(system, server, await templates.full(system, 0), batch, jobs)
                found.append(Measurement(name, rate, "jobs/s"))
                task.advance(f"{name} {rate:,.0f}/s")
    return found


async def enqueue(system: System, server: PostgresServer, template: str, batch: int, jobs: int) -> float:
    """Jobs per second of one producer, in a process of its own."""
    async with server.database(template) as url, connected(url) as connection:
        with Process(worker("producer", url, system.name, batch, jobs)) as process:
            if not process.wait(SECONDS):
                raise NotMeasuredError(f"{system.name} did not enqueue {jobs} jobs in time")
            rates, last = process.lines("rate"), process.said()
        there = await connection.fetchval(f"SELECT count(*) FROM {system.table}")
        if not rates or there != jobs + batch:
            raise NotMeasuredError(f"{system.name} enqueued {there} of {jobs + batch} jobs: {last}")
    return rates[0][0]
