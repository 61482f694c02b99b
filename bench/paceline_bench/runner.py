"""The bench of the runner: how fast, how quick to begin, how small when idle."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from paceline.testing import PostgresServer
from paceline_bench import idle, life
from paceline_bench.bench import Bench, Plot, Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement, Missing, Percentile, Ratio
from paceline_bench.parts import NOT_WANTED, Part, take
from paceline_bench.server import bench_server, server_facts
from paceline_bench.subjects import Subject, empty, subjects
from paceline_bench.templates import Templates

RATE: Final = "jobs/s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured."""

    jobs: int
    rounds: int
    seconds: float
    """The longest that one repetition may take."""
    life: life.Size
    idle: idle.Size


FULL: Final = Size(jobs=50_000, rounds=5, seconds=300, life=life.FULL, idle=idle.FULL)
QUICK: Final = Size(jobs=10_000, rounds=1, seconds=60, life=life.QUICK, idle=idle.QUICK)


async def measure(run: Run) -> AsyncIterator[Measurement | Missing]:
    """All parts, one after the other: nothing else runs while something is measured."""
    size = QUICK if run.quick else FULL
    jobs, rounds = run.jobs or size.jobs, run.rounds or size.rounds
    run.settings.update(jobs=jobs, rounds=rounds)
    with bench_server() as server:
        run.versions["postgres"], settings = await server_facts(server)
        run.settings.update(settings)
        async with Templates(server) as templates:
            async for each in _throughput(run, server, templates, jobs, rounds, size.seconds):
                yield each
            for name, part in _parts(server, templates, size).items():
                for found in await take(run, (name,), part):
                    yield found


async def _throughput(
    run: Run, server: PostgresServer, templates: Templates, jobs: int, rounds: int, seconds: float
) -> AsyncIterator[Measurement | Missing]:
    """A B C, A B C: whatever the machine does besides, it does to all of them."""
    there: list[Subject] = []
    for subject in subjects():
        try:
            if not run.wants(subject.name):
                raise NotMeasuredError(NOT_WANTED)  # noqa: TRY301 -- the same answer as any other reason
            subject.require()
        except NotMeasuredError as error:
            yield Missing(subject.name, str(error))
        else:
            there.append(subject)
    with run.report.task("throughput", rounds * len(there)) as task:
        for _ in range(rounds):
            for subject in list(there):
                template = await templates.full(subject.system, jobs)
                try:
                    rate = (await empty(subject, server, template, jobs, seconds)).rate
                except NotMeasuredError as error:
                    there.remove(subject)
                    yield Missing(subject.name, str(error))
                else:
                    task.advance(f"{subject.name} {rate:,.0f}/s")
                    yield Measurement(subject.name, rate, RATE)


def _parts(server: PostgresServer, templates: Templates, size: Size) -> dict[str, Part]:
    lives = life.Lives(server, templates, size.life)
    return {
        "exec_to_first_claim": lives.boot,
        "idle_rss": lives.memory,
        "drain_to_exit": lives.leave,
        "start_listen": lambda: lives.start("start_listen", listen=True),
        "start_poll": lambda: lives.start("start_poll", listen=False),
        "idle_queries": lambda: idle.queries(server, templates, lives, size.idle),
    }


BENCH: Final = Bench(
    name="runner",
    title="The runner, beside the SQL that it is made of and beside its peers",
    method="Each subject is one process that empties the same number of no-op jobs, in turns, on one PostgreSQL with "
    "fsync on. How it is kept fair: docs/reference/benchmarks.md.",
    function=measure,
    derived=(
        Ratio("sdk_to_slim", "sdk_50x4", "slim_50x4"),
        Ratio("sdk_to_raw", "sdk_50x4", "raw_50x4"),
        Ratio("runner_to_raw", "runner_50x4", "raw_50x4"),
        Ratio("runner_to_raw_200x4", "runner_200x4", "raw_200x4"),
        Ratio("runner_to_pgqueuer_50x4", "runner_50x4", "pgqueuer_50x4"),
        Ratio("runner_to_pgqueuer_200x4", "runner_200x4", "pgqueuer_200x4"),
        Ratio("runner_to_procrastinate", "runner_50x4", "procrastinate"),
        Percentile("start_p99_listen", "start_listen", 99),
        Percentile("start_p99_poll", "start_poll", 99),
    ),
    plots=(
        Plot(
            file="throughput",
            title="No-op jobs per second, one process",
            kind="bars",
            names=(
                "slim_50x4",
                "raw_50x4",
                "sdk_50x4",
                "runner_50x4",
                "pgqueuer_50x4",
                "slim_200x4",
                "raw_200x4",
                "runner_200x4",
                "pgqueuer_200x4",
                "procrastinate",
            ),
        ),
        Plot(
            file="start",
            title="Enqueue to handler start, idle runner",
            kind="cumulative",
            names=("start_listen", "start_poll"),
        ),
    ),
    labels={
        "slim_50x4": "raw SQL, slim table, 50 x 4",
        "slim_200x4": "raw SQL, slim table, 200 x 4",
        "raw_50x4": "raw SQL, 50 x 4",
        "raw_200x4": "raw SQL, 200 x 4",
        "sdk_to_slim": "SDK / raw SQL on a slim table, 50 x 4",
        "sdk_50x4": "SDK claim+ack, 50 x 4",
        "runner_50x4": "paceline run, 50 x 4",
        "runner_200x4": "paceline run, 200 x 4",
        "pgqueuer_50x4": "PgQueuer, 50 x 4",
        "pgqueuer_200x4": "PgQueuer, 200 x 4",
        "procrastinate": "procrastinate, 4 workers x 10",
        "sdk_to_raw": "SDK / raw SQL, 50 x 4",
        "runner_to_raw": "runner / raw SQL, 50 x 4",
        "runner_to_raw_200x4": "runner / raw SQL, 200 x 4",
        "runner_to_pgqueuer_50x4": "runner / PgQueuer, 50 x 4",
        "runner_to_pgqueuer_200x4": "runner / PgQueuer, 200 x 4",
        "runner_to_procrastinate": "runner / procrastinate",
        "exec_to_first_claim": "exec to first claim",
        "idle_rss": "RSS, idle for 5 s",
        "idle_rss_with_children": "RSS with child processes, idle for 5 s",
        "drain_to_exit": "POST /drain to exit, idle",
        "start_listen": "enqueue to handler start, with LISTEN",
        "start_poll": "enqueue to handler start, without LISTEN",
        "start_p99_listen": "the same, p99, with LISTEN",
        "start_p99_poll": "the same, p99, without LISTEN",
        "idle_queries": "1,000 idle runners, driven by one process",
        "idle_queries_one_real": "one idle runner, a real process",
        "idle_queries_one_driven": "one idle runner, driven",
    },
)
