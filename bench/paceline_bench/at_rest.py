"""What an operator costs while nothing happens."""

import asyncio
import time

import psutil

from paceline_bench import histogram
from paceline_bench.counted import Counted
from paceline_bench.creating import quantiles
from paceline_bench.measure import Measurement
from paceline_bench.operator_command import Operator


async def rest(running: Operator, way: Counted, seconds: float, what: str) -> list[Measurement]:
    """Its memory, its processor time and what it asks on its way to the database; `what` ends the figures' names."""
    process = psutil.Process(running.process.pid)
    turns = await running.turns()
    way.begin()
    before, began = _cpu(process), time.monotonic()
    await asyncio.sleep(seconds)
    took, statements, busy = time.monotonic() - began, way.statements, _cpu(process) - before
    turned = histogram.since(turns, await running.turns())
    running.process.require()
    return [
        Measurement(f"rss_{what}", process.memory_info().rss / 1e6, "MB"),
        Measurement(f"cpu_idle_{what}", 100 * busy / took, "% of a core"),
        Measurement(f"queries_idle_{what}", statements / took, "queries/s"),
        Measurement(f"connections_{what}", way.most, "connections"),
        *quantiles(turned, what),
    ]


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
