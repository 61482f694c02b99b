"""The bench of two operators: how soon the other one acts when the active one is killed, or told to end."""

import asyncio
import contextlib
import functools
import random
import time
from collections.abc import AsyncIterator, Callable
from typing import Final

from paceline_bench import paceline_command
from paceline_bench.bench import Bench, Plot, Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement, Missing, Percentile
from paceline_bench.on_site import on_sites
from paceline_bench.operator_command import Operator, operator
from paceline_bench.process import Process
from paceline_bench.site import Site, until

KILLS: Final = "kill_to_act"
ENDS: Final = "term_to_act"
ROUNDS: Final = {KILLS: 10, ENDS: 5}
QUICK_ROUNDS: Final = {KILLS: 2, ENDS: 2}
GROUP: Final = "builds"
SECONDS: Final = 30.0
RENEWAL: Final = 1.0
"""How often the active one renews its Lease: it is ended at any moment between two renewals."""
BLOWS: Final[dict[str, Callable[[Process], None]]] = {KILLS: Process.kill, ENDS: Process.terminate}


async def measure(run: Run) -> AsyncIterator[Measurement | Missing]:
    """Kills, then orders to end, each in a cluster of its own."""
    paceline_command.require()
    rounds = {name: run.rounds or count for name, count in (QUICK_ROUNDS if run.quick else ROUNDS).items()}
    run.settings.update(kills=rounds[KILLS], terms=rounds[ENDS], operators=2, nodes=0)
    parts = [((name,), functools.partial(_end, name, count)) for name, count in rounds.items()]
    async for found in on_sites(run, parts):
        yield found


async def _end(name: str, count: int, site: Site) -> list[Measurement]:
    """Seconds from the signal to the Runner object that only the other operator can have made.

    The size changes right after the signal, so nothing that the first one had begun can be taken for it.
    """
    await site.trust(site.url)
    pause = random.Random(0)  # noqa: S311 -- no secret
    found: list[Measurement] = []
    async with contextlib.AsyncExitStack() as stack:
        pair = [await stack.enter_async_context(operator(site)) for _ in range(2)]
        await site.add_group(GROUP, 1)
        await until(lambda: _has(site, 1), "the first Runner is there")
        for size in range(2, count + 2):
            active, standby = await _roles(pair)
            await asyncio.sleep(pause.uniform(RENEWAL, 2 * RENEWAL))
            began = time.monotonic()
            BLOWS[name](active.process)
            await site.scale(GROUP, size)
            await until(functools.partial(_has, site, size), "the other operator acts", SECONDS)
            found.append(Measurement(name, time.monotonic() - began, "s"))
            if active.process.alive() and not await asyncio.to_thread(active.process.wait, SECONDS):
                raise NotMeasuredError("the operator that was told to end did not")
            pair = [standby, await stack.enter_async_context(operator(site))]
    return found


async def _has(site: Site, runners: int) -> bool:
    return await site.count_runners() >= runners


async def _roles(pair: list[Operator]) -> tuple[Operator, Operator]:
    """Who acts, and who stands by."""
    first, second = pair
    who: list[bool] = []

    async def clear() -> bool:
        who[:] = [await each.leads() for each in pair]
        return sum(who) == 1

    await until(clear, "one of the two operators leads")
    return (first, second) if who[0] else (second, first)


BENCH: Final = Bench(
    name="failover",
    title="Two operators, one of which ends",
    method="Two operator processes with the shipped rights, on etcd, API server, controller manager and scheduler of "
    "this machine, and a PostgreSQL with fsync on; no node. Time runs from the signal to the Runner object that a size "
    "wanted after it asks for. How it is done: docs/reference/benchmarks.md.",
    function=measure,
    derived=(Percentile(f"{KILLS}_max", KILLS, 100), Percentile(f"{ENDS}_max", ENDS, 100)),
    plots=(
        Plot(file="seconds", title="Active operator ended to the other one acting", kind="cumulative",
             names=(KILLS, ENDS)),
    ),
    labels={
        KILLS: "kill -9 of the active operator, the other acts",
        ENDS: "SIGTERM to the active operator, the other acts",
        f"{KILLS}_max": "kill -9, the longest",
        f"{ENDS}_max": "SIGTERM, the longest",
    },
)  # fmt: skip
