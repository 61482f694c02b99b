"""How fast a full queue of no-op jobs is emptied, and what each job costs the database.

Everybody has the same number of connections that claim, in one process or shared by two, and the same batch where he
can claim more than one job at a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement
from paceline_bench.process import worker
from paceline_bench.subjects import Emptied, Subject, empty, runner
from paceline_bench.systems import System
from paceline_bench.templates import Templates

RATE: Final = "jobs/s"
BATCHES: Final = (1, 10, 50, 200)
PROCESSES: Final = (1, 2)
CONNECTIONS: Final = 4
BATCHED: Final = ("raw", "sdk", "runner", "pgqueuer", "chancy")
SINGLE: Final = ("procrastinate", "saq")
"""Those that claim, or write, one job at a time whatever they are told: measured once."""
COSTS: Final = (*(f"{who}_50_1p" for who in BATCHED), *(f"{who}_1p" for who in SINGLE))
"""Those whose log and transactions per job are told, too."""
NAMES: Final = (
    *(f"{who}_{batch}_{count}p" for batch in BATCHES for count in PROCESSES for who in BATCHED),
    *(f"{who}_{count}p" for count in PROCESSES for who in SINGLE),
)
COST_NAMES: Final = tuple(f"{what}_{name.split('_')[0]}" for name in COSTS for what in ("wal", "commits"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many jobs each has to empty, such that it takes seconds: of one second, a fifth was the machine's mood."""

    quick: tuple[int, int, int, int]
    """By batch, for those that claim in batches with asyncpg."""
    chancy: tuple[int, int, int, int]
    slow: int
    rounds: int
    seconds: float
    """The longest that one repetition may take."""


FULL: Final = Size(
    quick=(5_000, 25_000, 120_000, 200_000), chancy=(3_000, 8_000, 12_000, 12_000), slow=3_000, rounds=5, seconds=120
)
QUICK: Final = Size(
    quick=(1_500, 8_000, 15_000, 25_000), chancy=(1_000, 3_000, 4_000, 4_000), slow=1_000, rounds=1, seconds=60
)


@dataclass(frozen=True, slots=True)
class Planned:
    """A subject and its work."""

    subject: Subject
    jobs: int


def plan(size: Size) -> Iterator[Planned]:
    """All of them, in the order of each round: who is compared stands side by side."""
    # imported here: the tests of this package run where the peers are not installed
    from paceline_bench.systems import chancy, paceline, pgqueuer, procrastinate, saq

    bare = replace(paceline.SYSTEM, done=None)  # nobody keeps a record of what two statements do
    for batch, jobs, fewer in zip(BATCHES, size.quick, size.chancy, strict=True):
        for count in PROCESSES:
            each = CONNECTIONS // count
            end = f"{batch}_{count}p"
            yield Planned(_worker(f"raw_{end}", bare, count, "raw", "own", batch, each), jobs)
            yield Planned(_worker(f"sdk_{end}", paceline.SYSTEM, count, "sdk", batch, each), jobs)
            yield Planned(runner(f"runner_{end}", paceline.SYSTEM, batch, each, count), jobs)
            yield Planned(_worker(f"pgqueuer_{end}", pgqueuer.SYSTEM, count, "pgqueuer", batch, each), jobs)
            room = batch * each  # what all of them claim together
            yield Planned(_worker(f"chancy_{end}", chancy.SYSTEM, count, "chancy", room, each), fewer)
    for count in PROCESSES:
        each = CONNECTIONS // count
        workers = _worker(f"procrastinate_{count}p", procrastinate.SYSTEM, count, "procrastinate", 10, each)
        yield Planned(workers, size.slow)
        yield Planned(_worker(f"saq_{count}p", saq.SYSTEM, count, "saq", 50 // count, each), size.slow)


def _worker(name: str, system: System, count: int, module: str, *arguments: object) -> Subject:
    return Subject(name=name, system=system, processes=count, command=lambda url: worker(module, url, *arguments))


async def measure(run: Run, server: PostgresServer, templates: Templates, size: Size) -> list[Measurement]:
    """A B C, A B C: whatever the machine does besides, it does to all of them."""
    planned = [each for each in plan(size) if run.wants(each.subject.name) or _costs(each) & run.only]
    for each in planned:
        each.subject.require()
    found: list[Measurement] = []
    with run.report.task("throughput", size.rounds * len(planned)) as task:
        for _ in range(size.rounds):
            for each in list(planned):
                template = await templates.full(each.subject.system, each.jobs)
                try:
                    emptied = await empty(each.subject, server, template, each.jobs, size.seconds)
                except NotMeasuredError as error:
                    run.report.line(f"{each.subject.name}: {error}")
                    planned.remove(each)
                else:
                    task.advance(f"{each.subject.name} {emptied.rate:,.0f}/s")
                    found += figures(each.subject.name, emptied)
    return found


def _costs(planned: Planned) -> set[str]:
    who = planned.subject.name.split("_")[0]
    return {f"wal_{who}", f"commits_{who}"} if planned.subject.name in COSTS else set()


def figures(name: str, emptied: Emptied) -> list[Measurement]:
    """The rate, and for some the costs."""
    found = [Measurement(name, emptied.rate, RATE)]
    if name in COSTS:
        who = name.split("_")[0]
        found += [
            Measurement(f"wal_{who}", emptied.wal, "bytes/job"),
            Measurement(f"commits_{who}", emptied.commits, "/job"),
        ]
    return found
