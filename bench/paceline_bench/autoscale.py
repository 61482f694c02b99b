"""The bench of autoscaling: from zero, while nothing happens, down under load, and played in advance."""

import functools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from paceline_bench import cycles, paceline_command, simulated, sleeping, waking
from paceline_bench.bench import Bench, Plot, Run
from paceline_bench.keda import KEDA
from paceline_bench.measure import Measurement, Missing, Percentile
from paceline_bench.on_site import Part, on_sites
from paceline_bench.parts import take


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured."""

    rounds: int
    tries: int
    sleeping: sleeping.Size
    cycles: cycles.Size
    jobs: int = waking.JOBS
    day: str = simulated.CURVE
    day_jobs: int = simulated.JOBS


FULL: Final = Size(rounds=3, tries=50, sleeping=sleeping.FULL, cycles=cycles.FULL)
QUICK: Final = Size(rounds=1, tries=5, sleeping=sleeping.QUICK, cycles=cycles.QUICK)


async def measure(run: Run, size: Size | None = None) -> AsyncIterator[Measurement | Missing]:
    """All parts, one after the other, each in a cluster of its own; the day needs none."""
    paceline_command.require()
    size = size or (QUICK if run.quick else FULL)
    rounds = run.rounds or size.rounds
    run.settings.update(
        rounds=rounds, tries=size.tries, jobs_at_once=size.jobs, idle_groups=size.sleeping.groups,
        idle_seconds=size.sleeping.seconds, wanted_cycles=size.cycles.cycles, nodes=0, day=size.day,
    )  # fmt: skip
    async for found in on_sites(run, _parts(run, size, rounds)):
        yield found
    for _ in range(rounds):
        for found in await take(run, (simulated.NAME,), functools.partial(simulated.simulate, size.day_jobs, size.day)):
            yield found


def _parts(run: Run, size: Size, rounds: int) -> list[Part]:
    return [
        ((waking.WAKE,), lambda place: waking.wake(place, size.tries)),
        *[((waking.BURST,), lambda place: waking.burst(place, size.jobs, run.curves))]
        * (rounds if run.wants(waking.BURST) else 1),
        (sleeping.FIGURES, lambda place: sleeping.sleep(place, size.sleeping)),
        (cycles.FIGURES, lambda place: cycles.cycle(place, size.cycles, run.curves)),
    ]


BENCH: Final = Bench(
    name="autoscale",
    title="Groups that follow their queue, on a real control plane",
    method="One operator process with the shipped rights, on etcd, API server, controller manager and scheduler of "
    "this machine, and a PostgreSQL with fsync on; no node, so a pod that is created is an object. In the scale-down "
    "cycles the operator, its decisions, Runners and pods are real. The runners are not processes: the runner's own "
    "claim loops run in the bench, each under the registration of its pod, and end without grace when the pod object "
    "goes. How it is done: docs/reference/benchmarks.md.",
    function=measure,
    derived=(Percentile(f"{waking.WAKE}_p99", waking.WAKE, 99),),
    plots=(
        Plot(file="wake", title="One job at zero to its pod", kind="cumulative", names=(waking.WAKE,)),
        Plot(file="burst", title="400 jobs at zero", kind="steps", names=(waking.WANTED, waking.MADE)),
        Plot(
            file="cycles",
            title="Scale-down cycles: bursts over a steady flow of jobs",
            kind="steps",
            names=(cycles.WANTED, cycles.THERE, cycles.WAITING),
        ),
    ),
    beside=KEDA,
    labels={
        waking.WAKE: "one job at zero to pod created",
        f"{waking.WAKE}_p99": "one job at zero to pod created, p99",
        waking.BURST: "400 jobs at zero to 400 pods created",
        waking.WANTED: "runners wanted (decisions)",
        waking.MADE: "pods",
        "rss_200_groups": "RSS, 200 idle groups at zero",
        "cpu_idle_200_groups": "CPU, 200 idle groups at zero",
        "queries_idle_200_groups": "statements, 200 idle groups in one database",
        "connections_200_groups": "connections, 200 idle groups, most at a time",
        "reconcile_p50_200_groups": "turn of a loop, idle, 200 groups, p50",
        "reconcile_p99_200_groups": "turn of a loop, idle, 200 groups, p99",
        "cycles": "runners retired and gone while jobs flowed",
        "cycles_interrupted": "attempts among them that were interrupted (lost, handed back, failed)",
        "cycles_jobs": "jobs meanwhile",
        "cycles_busy": "others at work when a runner went",
        "cycles_seconds": "how long that took",
        cycles.WANTED: "runners wanted (decisions)",
        cycles.THERE: "pods",
        cycles.WAITING: "jobs that wait",
        simulated.NAME: "paceline simulate, a day of a million jobs",
    },
)
