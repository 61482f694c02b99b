"""The bench of the gateway: what is measured, in which order, and how it is shown."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Final

from paceline_bench import paceline_command
from paceline_bench.bench import Bench, Plot, Run
from paceline_bench.gateway import across, crowd, enqueuing
from paceline_bench.gateway.web import find_wrk
from paceline_bench.measure import Measurement, Missing, Ratio
from paceline_bench.parts import take
from paceline_bench.server import bench_server, server_facts
from paceline_bench.templates import Templates

ROUNDS: Final = 9
"""The empty route alone differs by a half from one to the next where others use the machine."""
SECONDS: Final = 5.0


async def measure(run: Run) -> AsyncIterator[Measurement | Missing]:
    """The three parts, one after the other."""
    paceline_command.require()
    rounds = run.rounds or (1 if run.quick else ROUNDS)
    size = crowd.QUICK if run.quick else crowd.FULL
    run.settings.update(
        rounds=rounds, connections=enqueuing.CONNECTIONS, batch=enqueuing.BATCH,
        batch_connections=enqueuing.BATCH_CONNECTIONS, jobs_per_second=crowd.RATE, crowd_rounds=size.rounds,
    )  # fmt: skip
    with bench_server() as server:
        run.versions["postgres"], settings = await server_facts(server)
        run.settings.update(settings)
        async with Templates(server) as templates:

            async def enqueues() -> list[Measurement]:
                wrk = find_wrk(run.report)
                return await enqueuing.measure(run, server, templates, wrk, rounds, SECONDS)

            for found in await take(run, enqueuing.NAMES, enqueues, reports=True):
                yield found
            pairs = partial(across.measure, run, server, templates, size)
            for found in await take(run, across.NAMES, pairs, reports=True):
                yield found
            crowds = partial(crowd.measure, run, server, templates, size)
            for found in await take(run, crowd.NAMES, crowds, reports=True):
                yield found


WHAT: Final = {
    "p50": "half of the jobs were with a runner after",
    "p99": "99 of 100 jobs were with a runner after",
    "cpu": "CPU of the gateway",
    "weight": "memory of the gateway",
    "write": "95 of 100 writes to the database took at most",
    "failed": "requests of runners that failed",
    "vain": "claims that came to nothing",
    "idle": "transactions without any job",
}
BENCH: Final = Bench(
    name="gateway",
    title="One gateway: jobs by HTTP, and runners that dial out",
    method="One gateway process and one PostgreSQL with fsync on, the clients on the same two cores; runners poll, and "
    "finish at once what they get. How it is kept fair: docs/reference/benchmarks.md.",
    function=measure,
    derived=(Ratio("one_to_empty", "http_one", "http_empty"),),
    plots=(
        Plot(
            file="latency",
            title=f"Enqueue to runner, {crowd.RATE} jobs a second",
            kind="lines",
            names=tuple(f"{what}_{count}" for what in ("p50", "p99", "write") for count in crowd.CROWDS),
            x="runners that poll",
        ),
        Plot(
            file="cpu",
            title=f"CPU of the gateway, {crowd.RATE} jobs a second",
            kind="lines",
            names=tuple(f"cpu_{count}" for count in crowd.CROWDS),
            x="runners that poll",
        ),
        Plot(
            file="weight",
            title="Memory of the gateway",
            kind="lines",
            names=tuple(f"weight_{count}" for count in crowd.CROWDS),
            x="runners that poll",
        ),
        Plot(
            file="failed",
            title=f"What failed, {crowd.RATE} jobs a second",
            kind="lines",
            names=tuple(f"{what}_{count}" for what in ("vain", "failed") for count in crowd.CROWDS),
            x="runners that poll",
        ),
        Plot(file="enqueue", title="Requests and jobs a second", kind="logbars", names=enqueuing.NAMES),
    ),
    labels={
        "http_empty": "a route that does nothing",
        "http_one": "one job in each request",
        "http_many": f"{enqueuing.BATCH:,} jobs in each request",
        "across_p50": "half of the jobs that went in at one gateway were with a runner of another after",
        "across_p99": "99 of 100 jobs that went in at one gateway were with a runner of another after",
        "one_to_empty": "one job in each request / a route that does nothing",
        **{f"{what}_{count}": f"{label}, {count} runners" for what, label in WHAT.items() for count in crowd.CROWDS},
    },
)
