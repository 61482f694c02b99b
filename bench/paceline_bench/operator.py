"""The bench of the operator: how quick it makes runners, what a life costs, what it weighs when nothing happens."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from paceline_bench import creating, death, paceline_command, thousand, writes
from paceline_bench.bench import Bench, Plot, Run
from paceline_bench.measure import Measurement, Missing, Percentile, Ratio
from paceline_bench.on_site import Part, on_sites

CREATING: Final = ("pods_0_to_400", "pods_bare_400", "reconcile_p50_400", "reconcile_p99_400")
WRITES: Final = ("writes_per_life", "event_writes_per_life", "group_writes_per_life", "dry_runs_per_group")
THOUSAND: Final = (*thousand.IDLE, *thousand.TURNS, thousand.RESTART)
DEATHS: Final = ("death_to_claimable", "kill_to_claimable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured."""

    rounds: int
    runners: int
    """Whose lives are counted."""
    thousand: thousand.Size
    deaths: death.Size


FULL: Final = Size(rounds=3, runners=10, thousand=thousand.FULL, deaths=death.FULL)
QUICK: Final = Size(rounds=1, runners=5, thousand=thousand.QUICK, deaths=death.QUICK)


async def measure(run: Run) -> AsyncIterator[Measurement | Missing]:
    """All parts, one after the other, each in a cluster of its own."""
    paceline_command.require()
    size = QUICK if run.quick else FULL
    rounds = run.rounds or size.rounds
    run.settings.update(
        rounds=rounds, runners_of_lives=size.runners, deaths=size.deaths.runners * size.deaths.rounds,
        idle_seconds=size.thousand.seconds, groups=thousand.GROUPS, runners=thousand.RUNNERS,
        pods="faked ready, registered and kept alive by the bench where there are 1,000",
    )  # fmt: skip
    async for found in on_sites(run, _parts(run, size, rounds if any(map(run.wants, CREATING)) else 1)):
        yield found


def _parts(run: Run, size: Size, rounds: int) -> list[Part]:
    return [
        *[(CREATING, creating.create)] * rounds,
        (WRITES, lambda place: writes.count(place, size.runners)),
        (DEATHS, lambda place: death.deaths(place, size.deaths)),
        (THOUSAND, lambda place: thousand.thousand(place, size.thousand, run.wants)),
    ]


BENCH: Final = Bench(
    name="operator",
    title="The operator, on a real control plane",
    method="One operator process with the shipped rights, on etcd, API server, controller manager and scheduler of "
    "this machine, and a PostgreSQL with fsync on. The 1,000 runners are not real: their pods' statuses, registrations "
    "and heartbeats are the bench's. How it is done: docs/reference/benchmarks.md.",
    function=measure,
    derived=(
        Ratio("pods_to_bare", "pods_0_to_400", "pods_bare_400"),
        Percentile("death_p99", "death_to_claimable", 99),
    ),
    plots=(
        Plot(
            file="pods",
            title="400 pods created, no node attached",
            kind="bars",
            names=("pods_bare_400", "pods_0_to_400"),
        ),
        Plot(
            file="death",
            title="Container ended to job claimable",
            kind="cumulative",
            names=("death_to_claimable", "kill_to_claimable"),
        ),
    ),
    labels={
        "pods_0_to_400": "0 to 400 runner pods by the operator (800 writes)",
        "pods_bare_400": "400 bare pods, 25 at a time (400 writes)",
        "pods_to_bare": "operator / bare",
        "reconcile_p50_400": "turn of a loop while 400 pods are made, p50",
        "reconcile_p99_400": "turn of a loop while 400 pods are made, p99",
        "writes_per_life": "API writes per plain runner life",
        "event_writes_per_life": "events apart, per life",
        "group_writes_per_life": "the group's status, finalizer and budget apart, per life",
        "dry_runs_per_group": "dry runs of a template apart, for one group",
        "death_to_claimable": "container ended to job claimable",
        "kill_to_claimable": "kill of the process to job claimable",
        "death_p99": "container ended to job claimable, p99",
        "rss_1000": "RSS, 1,000 runners in 50 groups",
        "cpu_idle_1000": "CPU, idle, 1,000 runners",
        "queries_idle_1000": "statements, idle, 1,000 runners",
        "connections_1000": "connections, 1,000 runners, most at a time",
        "reconcile_p50_1000": "turn of a loop, idle, 1,000 runners, p50",
        "reconcile_p99_1000": "turn of a loop, idle, 1,000 runners, p99",
        "restart_1000": "exec to the first pod, 1,000 runners",
    },
)
