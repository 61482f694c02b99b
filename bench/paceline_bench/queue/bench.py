"""The bench of the queue: what is measured, in which order, and how it is shown."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from paceline_bench import life
from paceline_bench.bench import Bench, Plot, Run
from paceline_bench.measure import Measurement, Missing, Percentile, Ratio
from paceline_bench.parts import Part, take
from paceline_bench.queue import depth, enqueuing, horizon, keyed, latency, starting, throughput
from paceline_bench.queue.labels import LABELS
from paceline_bench.server import bench_server, server_facts
from paceline_bench.templates import Templates


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured."""

    throughput: throughput.Size
    latency: latency.Size
    horizon: horizon.Size
    keyed: keyed.Size
    enqueue_rounds: int
    enqueue_one: int
    enqueue_many: int
    starts: int
    depths: int


FULL: Final = Size(
    throughput=throughput.FULL, latency=latency.FULL, horizon=horizon.FULL, keyed=keyed.FULL,
    enqueue_rounds=3, enqueue_one=2_000, enqueue_many=50_000, starts=100, depths=50,
)  # fmt: skip
QUICK: Final = Size(
    throughput=throughput.QUICK, latency=latency.QUICK, horizon=horizon.QUICK, keyed=keyed.QUICK,
    enqueue_rounds=1, enqueue_one=300, enqueue_many=10_000, starts=10, depths=10,
)  # fmt: skip


async def measure(run: Run) -> AsyncIterator[Measurement | Missing]:
    """All parts, one after the other: nothing else runs while something is measured."""
    size = QUICK if run.quick else FULL
    if run.rounds:
        size = replace(size, throughput=replace(size.throughput, rounds=run.rounds))
    run.settings.update(connections=throughput.CONNECTIONS, rounds=size.throughput.rounds)
    with bench_server() as server:
        run.versions["postgres"], settings = await server_facts(server)
        run.settings.update(settings)
        async with Templates(server) as templates:
            times = life.Size(boots=0, drains=0, starts_listen=size.starts, starts_poll=0)
            lives = life.Lives(server, templates, times)
            parts: list[tuple[tuple[str, ...], Part]] = [
                (
                    (*throughput.NAMES, *throughput.COST_NAMES),
                    partial(throughput.measure, run, server, templates, size.throughput),
                ),
                (
                    enqueuing.NAMES,
                    partial(
                        enqueuing.measure, run, server, templates,
                        size.enqueue_rounds, size.enqueue_one, size.enqueue_many,
                    ),
                ),
                (
                    keyed.NAMES,
                    lambda: keyed.measure(run, server, templates, keyed.plan(size.keyed), size.keyed.rounds),
                ),
                (starting.NAMES, partial(starting.measure, run, server, templates, lives, size.starts)),
                (
                    latency.NAMES,
                    lambda: latency.measure(
                        run, server, [*latency.own_cases(size.latency), *latency.peer_cases(size.latency)], size.latency
                    ),
                ),
                (depth.NAMES, partial(depth.measure, run, server, size.latency.million, size.depths)),
                (horizon.NAMES, partial(horizon.measure, run, server, templates, size.horizon)),
            ]  # fmt: skip
            for names, part in parts:
                for found in await take(run, names, part, reports=True):
                    yield found


BENCH: Final = Bench(
    name="queue",
    title="The queue, beside the SQL that it is made of and beside its peers",
    method="Everybody works on one PostgreSQL with fsync on, in turns, with the same payload and the same number of "
    "connections. How it is kept fair: docs/reference/benchmarks.md.",
    function=measure,
    derived=(
        *(Ratio(f"sdk_to_raw_{batch}", f"sdk_{batch}_1p", f"raw_{batch}_1p") for batch in throughput.BATCHES),
        Ratio("runner_to_raw_50", "runner_50_1p", "raw_50_1p"),
        *(
            Ratio(f"runner_to_{peer}_{batch}", f"runner_{batch}_1p", f"{peer}_{batch}_1p")
            for peer in ("pgqueuer", "chancy")
            for batch in throughput.BATCHES
        ),
        Ratio("runner_to_procrastinate_50", "runner_50_1p", "procrastinate_1p"),
        Ratio("runner_to_saq_50", "runner_50_1p", "saq_1p"),
        *(
            Ratio(f"claim_{what}_ratio", f"claim_{what}", "claim_1k")
            for what in ("1m_ready", "1m_future", "200k_1m_future", "20k_blocked", "500_lanes")
        ),
        Ratio("held_to_free", "horizon_held", "horizon_free"),
        Ratio("held_to_unmarked_last", "horizon_held_last", "horizon_unmarked_last"),
        *(Percentile(f"{name}_p99", name, 99) for name in starting.NAMES),
    ),
    plots=(
        Plot(
            file="throughput",
            title="No-op jobs per second by batch, four connections in one process",
            kind="lines",
            names=tuple(f"{who}_{batch}_1p" for who in throughput.BATCHED for batch in throughput.BATCHES),
        ),
        Plot(
            file="claim",
            title="One claim, whatever else the queue holds",
            kind="logbars",
            names=(
                *(f"claim_{what}{who}" for what in latency.CONTENTS for who in ("", *(f"_{p}" for p in latency.PEERS))),
                "claim_20k_blocked",
                "claim_20k_blocked_procrastinate",
                "claim_500_lanes",
            ),
        ),
        Plot(
            file="horizon",
            title="Jobs per second while an old snapshot is held",
            kind="steps",
            names=horizon.CURVES,
        ),
        Plot(file="enqueue", title="Enqueued jobs per second, one connection", kind="logbars", names=enqueuing.NAMES),
        Plot(file="keyed", title="Jobs per second under a limit on concurrency", kind="logbars", names=keyed.NAMES),
        Plot(file="depth", title="How deep is the queue? One answer", kind="logbars", names=depth.NAMES),
        Plot(
            file="start",
            title="Enqueue to handler start, idle worker",
            kind="cumulative",
            names=starting.NAMES,
        ),
        Plot(
            file="wal",
            title="Write-ahead log per job, claim to finish",
            kind="bars",
            names=tuple(name for name in throughput.COST_NAMES if name.startswith("wal")),
        ),
    ),
    labels=LABELS,
)
