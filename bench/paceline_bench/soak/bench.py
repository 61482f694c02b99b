"""The bench of endurance: hours of bursts, scaling, updates, taints and hand-overs, and nothing lost or grown."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import aiohttp

from paceline_bench import paceline_command
from paceline_bench.bench import Bench, Plot, Run
from paceline_bench.death import LEFT
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Curve, Measurement, Missing
from paceline_bench.on_site import on_sites
from paceline_bench.site import PODS, Site, until
from paceline_bench.soak import samples, truth
from paceline_bench.soak.deeds import Deeds
from paceline_bench.soak.drift import growth, late, line
from paceline_bench.soak.load import Load
from paceline_bench.soak.samples import Samples
from paceline_bench.soak.stage import LED, ROLLED, SURGE, Stage, stage

MINUTES: Final = 120
QUICK_MINUTES: Final = 3
DRAIN_SECONDS: Final = 300.0
TELL_SECONDS: Final = 300.0
COUNTS: Final = {
    "jobs": "jobs", "calls": "calls", "rolls": "updates", "taints": "taints", "hand_overs": "hand-overs",
    "retired": "pods",
}  # fmt: skip
"""How much there was, and in which unit."""
ENDS: Final = ("lost", "twice", "dead", "interrupted")
STEADY: Final = (*samples.WEIGHTS, "connections")


async def measure(run: Run, minutes: int | None = None) -> AsyncIterator[Measurement | Missing]:
    """On one site."""
    paceline_command.require()
    minutes = minutes or (QUICK_MINUTES if run.quick else MINUTES)
    run.settings.update(minutes=minutes, sample_seconds=samples.PAUSE, groups=f"{SURGE}, {ROLLED}, {LED}")
    names = (*COUNTS, *ENDS, *(f"{what}_{each}" for each in STEADY for what in ("slope", "drift")),
             *(f"late_{each}" for each in samples.WEIGHTS),
             *(f"growth_{each}" for each in samples.BOUNDED))  # fmt: skip
    async for found in on_sites(run, [(names, functools.partial(_soak, run, minutes * 60.0))]):
        yield found


async def _soak(run: Run, seconds: float, site: Site) -> list[Measurement]:
    async with stage(site) as place, aiohttp.ClientSession() as web:
        load, deeds, seen = Load(place, web), Deeds(place), Samples(place)
        await deeds.ready()
        retired = _Retired(site)

        async def tell() -> None:
            while True:
                await asyncio.sleep(TELL_SECONDS)
                done = ", ".join(f"{number} {COUNTS[name]}" for name, number in deeds.done.items())
                run.report.line(f"{len(load.told)} jobs, {retired.count} pods scaled away, {done}")

        async with _while(deeds.run, seen.run, retired.run, tell), _while(load.run):
            await asyncio.sleep(seconds)
        await until(lambda: _quiet(place), "all jobs are done", DRAIN_SECONDS, pause=1.0)
        ends = await truth.of(place.database, load.told)
    run.curves |= {name: Curve(name, _unit(name), tuple(points)) for name, points in seen.points.items()}
    counts = {"jobs": len(load.told), "calls": load.calls, **deeds.done, "retired": retired.count}
    return [
        *(Measurement(name, float(counts.get(name, 0)), unit) for name, unit in COUNTS.items()),
        *(Measurement(name, float(value), "jobs" if name != "interrupted" else "attempts")
          for name, value in ends.items()),
        *steady(seen.points),
    ]  # fmt: skip


def steady(points: dict[str, list[tuple[float, float]]]) -> list[Measurement]:
    """What should stay as it is, as lines; and what should be bounded."""
    found = []
    for name in STEADY:
        fitted = line(points[name])
        found.append(Measurement(f"slope_{name}", fitted.per_hour, f"{_unit(name)}/h"))
        found.append(Measurement(f"drift_{name}", fitted.drift, "x"))
    found += [Measurement(f"late_{name}", late(points[name]), "MB/h") for name in samples.WEIGHTS]
    found += [Measurement(f"growth_{name}", growth(points[name]), "x") for name in samples.BOUNDED]
    return found


class _Retired:
    """Counts the pods of the group that follows its queue which went."""

    def __init__(self, site: Site) -> None:
        self._site, self.count = site, 0

    async def run(self) -> None:
        selector = f"paceline.dev/group={SURGE}"
        listed = await self._site.api.get(PODS, labelSelector=selector)
        version = listed["metadata"]["resourceVersion"]
        while True:
            async for kind, pod in self._site.api.watch(PODS, version, labelSelector=selector):
                version = pod["metadata"]["resourceVersion"]
                self.count += kind == "DELETED"


async def _quiet(place: Stage) -> bool:
    return bool(await place.database.value(LEFT) == 0)


@contextlib.asynccontextmanager
async def _while(*others: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Something goes on beside the block; when it ends by itself, the block does too."""
    main = asyncio.current_task()
    assert main is not None
    broken: list[BaseException] = []

    async def watched(other: Callable[[], Awaitable[None]]) -> None:
        try:
            await other()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            broken.append(error)
            main.cancel()

    tasks = [asyncio.create_task(watched(each)) for each in others]
    try:
        yield
    except asyncio.CancelledError:
        if not broken:
            raise
        main.uncancel()
        first = broken[0]
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise NotMeasuredError(f"it broke: {first}") from first
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _unit(name: str) -> str:
    return {"connections": "connections", "runners": "runners", "waiting": "jobs"}.get(name, "MB")


WHAT: Final = {
    "operator": "memory of the operator that acts", "standby": "memory of the one that stands by",
    "gateway": "memory of the gateway", "runner": "memory of a runner", "connections": "connections",
    "live": "tables of what is live", "registry": "tables of groups and runners", "past": "history and samples",
    "runners": "runners that may claim", "waiting": "jobs that wait",
}  # fmt: skip
BENCH: Final = Bench(
    name="soak",
    title="Hours of bursts, scaling, updates, taints and hand-overs",
    method="Two operators, a gateway and three groups of real runner processes on a local node and a PostgreSQL with "
    "fsync on. The first fifth of the time counts for no line. How it is done: docs/reference/benchmarks.md.",
    function=measure,
    plots=(
        Plot(file="memory", title="Resident memory, MB", kind="steps", names=samples.WEIGHTS),
        Plot(file="tables", title="Tables with their indexes, MB", kind="steps", names=(*samples.BOUNDED, "past")),
        Plot(file="runners", title="Runners and connections", kind="steps", names=("runners", "connections")),
        Plot(file="waiting", title="Jobs that wait", kind="steps", names=("waiting",)),
    ),
    labels={
        "jobs": "jobs that somebody was told of", "calls": "calls that were answered", "rolls": "updates of a group",
        "taints": "taints set and removed", "hand_overs": "hand-overs of the lead",
        "retired": "pods that were scaled away", "lost": "jobs that are nowhere", "twice": "jobs in two places",
        "dead": "jobs that were given up", "interrupted": "attempts that were lost or handed back",
        **{f"slope_{name}": f"{WHAT[name]}: the line's slope" for name in STEADY},
        **{f"drift_{name}": f"{WHAT[name]}: what the line adds / the middle" for name in STEADY},
        **{f"late_{name}": f"{WHAT[name]}: what an hour of the second half adds" for name in samples.WEIGHTS},
        **{f"growth_{name}": f"{WHAT[name]}: most of the last third / of the third before" for name in samples.BOUNDED},
        **WHAT,
    },
)  # fmt: skip
