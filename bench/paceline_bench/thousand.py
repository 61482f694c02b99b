"""The operator with a thousand runners: its weight, its work when there is none, how soon it is back."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from paceline_bench.at_rest import rest
from paceline_bench.counted import counted
from paceline_bench.crew import crew
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement
from paceline_bench.operator_command import operator
from paceline_bench.site import PODS, Site

GROUPS: Final = 50
EACH: Final = 20
RUNNERS: Final = GROUPS * EACH
SECONDS: Final = 30.0
IDLE: Final = ("rss_1000", "cpu_idle_1000", "queries_idle_1000", "connections_1000")
TURNS: Final = ("reconcile_p50_1000", "reconcile_p99_1000")
RESTART: Final = "restart_1000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How long, and how often."""

    quiet: float
    """Seconds without a write before it counts as idle."""
    seconds: float
    restarts: int


FULL: Final = Size(quiet=20, seconds=60, restarts=3)
QUICK: Final = Size(quiet=8, seconds=15, restarts=1)


async def thousand(site: Site, size: Size, wants: Callable[[str], bool]) -> list[Measurement]:
    """50 groups of 20; first idle, then with a restart of the operator."""
    found: list[Measurement] = []
    async with counted(site.url) as way:
        await site.trust(way.url)
        async with operator(site) as running:
            for number in range(GROUPS):
                await site.add_group(name(number), EACH, scheduled=False)
            async with crew(site, RUNNERS):
                await site.settled(GROUPS, EACH)
                if any(map(wants, (*IDLE, *TURNS))):
                    await site.quiet(size.quiet)
                    found += await rest(running, way, size.seconds, str(RUNNERS))
                await running.stop()
                if wants(RESTART):
                    for number in range(size.restarts):
                        found.append(Measurement(RESTART, await _restart(site, name(number)), "s"))
    return found


def name(number: int) -> str:
    """Of a group."""
    return f"group-{number:02}"


async def _restart(site: Site, group: str) -> float:
    """Seconds from exec to the first pod for a group that was made larger while no operator ran."""
    selector = f"paceline.dev/group={group}"
    listed = await site.api.get(PODS, labelSelector=selector)
    await site.scale(group, len(listed["items"]) + 1)
    began = time.monotonic()
    async with operator(site, wait=False) as running:
        try:
            async with asyncio.timeout(SECONDS):
                version = listed["metadata"]["resourceVersion"]
                async for kind, _ in site.api.watch(PODS, version, labelSelector=selector):
                    if kind == "ADDED":
                        took = time.monotonic() - began
                        await running.ready()
                        await running.stop()
                        return took
        except TimeoutError:
            running.process.require()
    raise NotMeasuredError("the operator that was started again made no pod")
