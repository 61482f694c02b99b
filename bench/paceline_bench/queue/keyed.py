"""Throughput where a limit on concurrency holds over all nodes: per key, per entrypoint, per lock."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from paceline import NewJob, Queue
from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.measure import Measurement
from paceline_bench.process import worker
from paceline_bench.subjects import Subject, empty
from paceline_bench.systems import PAYLOAD, Produce, System
from paceline_bench.systems.paceline import POOL
from paceline_bench.templates import Templates

NAMES: Final = (
    "keyed_none",
    "keyed_1000x1",
    "keyed_100x5",
    "keyed_1x100",
    "keyed_pgqueuer_none",
    "keyed_pgqueuer_100",
    "keyed_procrastinate_100x1",
)
"""Keys x limit."""
SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many jobs."""

    jobs: int
    jobs_procrastinate: int
    rounds: int


FULL: Final = Size(jobs=20_000, jobs_procrastinate=2_000, rounds=3)
QUICK: Final = Size(jobs=6_000, jobs_procrastinate=500, rounds=1)


def plan(size: Size) -> list[tuple[Subject, int]]:
    """Who does how many jobs."""
    # imported here: the tests of this package run where the peers are not installed
    from paceline_bench.systems import pgqueuer, procrastinate

    locked = replace(
        procrastinate.SYSTEM,
        name="procrastinate-100x1",
        producer=partial(procrastinate.producer, lock=lambda number: f"lock-{number % 100}"),
    )
    return [
        *own(size),
        (_subject("keyed_pgqueuer_none", pgqueuer.SYSTEM, "pgqueuer", 50, 4), size.jobs),
        (_subject("keyed_pgqueuer_100", pgqueuer.SYSTEM, "pgqueuer", 50, 4, 100), size.jobs),
        (_subject("keyed_procrastinate_100x1", locked, "procrastinate", 10, 4), size.jobs_procrastinate),
    ]


def own(size: Size) -> list[tuple[Subject, int]]:
    """Paceline's."""
    from paceline_bench.systems import paceline

    def keys(count: int, limit: int) -> tuple[Subject, int]:
        producer = partial(keyed, key=lambda number: f"key-{number % count}", limit=limit)
        system = replace(paceline.SYSTEM, name=f"paceline-{count}x{limit}", producer=producer)
        return _subject(f"keyed_{count}x{limit}", system, "sdk", 50, 4), size.jobs

    plain = _subject("keyed_none", paceline.SYSTEM, "sdk", 50, 4), size.jobs
    return [plain, keys(1000, 1), keys(100, 5), keys(1, 100)]


def _subject(name: str, system: System, module: str, *arguments: object) -> Subject:
    return Subject(name=name, system=system, command=lambda url: worker(module, url, *arguments))


@asynccontextmanager
async def keyed(url: str, kind: str, key: Callable[[int], str], limit: int) -> AsyncIterator[Produce]:
    """A producer whose jobs take turns over the keys."""
    queue = await Queue.connect(url, POOL, connections=1)
    turn = 0

    async def produce(jobs: int) -> None:
        nonlocal turn
        await queue.enqueue_many(
            [
                NewJob(kind=kind, payload=dict(PAYLOAD), key=key(number), key_limit=limit)
                for number in range(turn, turn + jobs)
            ]
        )
        turn += jobs

    try:
        yield produce
    finally:
        await queue.close()


async def measure(
    run: Run, server: PostgresServer, templates: Templates, planned: list[tuple[Subject, int]], rounds: int
) -> list[Measurement]:
    """In turns."""
    found: list[Measurement] = []
    wanted = [each for each in planned if run.wants(each[0].name)]
    with run.report.task("keyed throughput", rounds * len(wanted)) as task:
        for _ in range(rounds):
            for subject, jobs in wanted:
                template = await templates.full(subject.system, jobs)
                emptied = await empty(subject, server, template, jobs, SECONDS)
                found.append(Measurement(subject.name, emptied.rate, "jobs/s"))
                task.advance(f"{subject.name} {emptied.rate:,.0f}/s")
    return found
