"""The bench of growth: what is measured, in which order, and how it is shown."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Final

from paceline_bench import paceline_command
from paceline_bench.bench import Bench, Plot, Run
from paceline_bench.growth import backlog, groups, history, lanes, operators, runners
from paceline_bench.growth.fit import Beyond, Exponent, Worst, labels
from paceline_bench.growth.sizes import APART, Size, curves, names
from paceline_bench.measure import Measurement, Missing
from paceline_bench.on_site import on_sites
from paceline_bench.parts import Part, take
from paceline_bench.server import bench_server, server_facts

WHAT: Final = {
    "claim": "ack 50 and claim 50",
    "claim99": "ack 50 and claim 50, 99 of 100 took at most",
    "sparse": "ack 50 and claim 50, all other lanes empty",
    "through": "1,000 jobs in and out, four connections",
    "enqueue": "enqueue one",
    "tick": "housekeeping of a second",
    "sample": "housekeeping with samples of pools",
    "survey": "survey of all groups",
    "list": "a page of a hundred jobs",
    "poll": "poll of an empty queue",
    "heartbeat": "heartbeat",
    "register": "register",
    "look": "the operator's look at the group",
    "find": "one job by its id",
    "retire": "housekeeping that drops a day",
    "statements": "operator at rest, statements",
    "cpu": "operator at rest, CPU",
    "memory": "operator at rest, RSS",
}
OVER: Final = {
    "backlog": "waiting jobs",
    "groups": "groups",
    "runners": "runners",
    "lanes": "lanes",
    "history": "finished jobs",
    "operator": "groups at zero",
}
AXES: Final = {
    "backlog": (backlog.measure, (backlog.BYTES,)),
    "groups": (groups.measure, ()),
    "runners": (runners.measure, ()),
    "lanes": (lanes.measure, ()),
    "history": (history.measure, (history.BYTES,)),
}
SHARDED: Final = {
    "shard_statements_one": "two databases, statements to the first",
    "shard_connections_one": "two databases, connections to the first",
    "shard_statements_two": "two databases, statements to the second",
    "shard_connections_two": "two databases, connections to the second",
    "shard_cpu": "two databases, CPU of the operator at rest",
}


async def measure(run: Run, size: Size) -> AsyncIterator[Measurement | Missing]:
    """One axis after the other, each in a database of its own that is dropped before the next."""
    paceline_command.require()
    run.settings.update(
        rounds=size.effort.rounds, calls_for_one_value=size.effort.calls, batch=50, idle_seconds=size.seconds,
        **{axis: " ".join(f"{each:,}" for each in getattr(size, axis)) for axis in OVER},
    )  # fmt: skip
    with bench_server() as server:
        run.versions["postgres"], settings = await server_facts(server)
        run.settings.update(settings)
        for axis, (part, more) in AXES.items():
            taken: Part = partial(part, run, server, size)
            for found in await take(run, (*names(size, axis), *more), taken, reports=True):
                yield found
    async for found in on_sites(
        run,
        [
            (names(size, "operator"), lambda place: operators.alone(place, size)),
            (operators.SHARDED, lambda place: operators.sharded(place, size)),
        ],
    ):
        yield found


def plots(size: Size) -> Sequence[Plot]:
    """A picture for each axis; that of the operator for its time alone."""
    return [
        Plot(
            file=axis,
            title=f"One call, by the number of {over}",
            kind="lines",
            names=tuple(name for curve in curves(size, axis) if curve.what not in _other(axis) for name in curve.names),
            x=over,
        )
        for axis, over in OVER.items()
    ]


def _other(axis: str) -> tuple[str, ...]:
    """What is no time of a call, or has another unit."""
    return ("memory", "statements") if axis == "operator" else ("through",)


def bench(size: Size) -> Bench:
    """The bench, for its sizes."""
    every = [curve for axis in OVER for curve in curves(size, axis)]
    told = {
        f"{what}_{each}_{axis}": f"{WHAT[what]}, {each:,} {OVER[axis]}"
        for axis, whats in APART.items()
        for what in whats
        for each in getattr(size, axis)
    }
    return Bench(
        name="growth",
        title="What one call costs, as what it works beside grows",
        method="One PostgreSQL with fsync on; the medians of each size are fitted by least squares on logarithms, once "
        "for each round. An operation beside n others may cost log n, one look at n things n log n; `beyond` is the "
        "exponent that is left when that is taken away, over all sizes or over the three largest, whichever is more. "
        "How it is done: docs/reference/benchmarks.md.",
        function=partial(measure, size=size),
        derived=(
            *(Exponent(curve) for curve in every),
            *(Beyond(curve) for curve in every),
            *(Worst(axis, curves(size, axis)) for axis in OVER),
        ),
        plots=tuple(plots(size)),
        labels={
            **labels(every, WHAT, OVER),
            **told,
            **{f"worst_over_{axis}": f"the curve over {over} that is most beyond" for axis, over in OVER.items()},
            backlog.BYTES: "bytes of a waiting job, with its indexes",
            history.BYTES: "bytes of a finished job, with its index",
            **SHARDED,
        },
    )
