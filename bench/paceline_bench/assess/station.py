"""One way with so many runners, and one rate after the other on it; then the same for all others."""

import sys
import time
from collections.abc import AsyncIterator, Sequence
from typing import Final

import aiohttp
import asyncpg
import psutil

from paceline.errors import PacelineError
from paceline.testing import PostgresServer
from paceline_bench.assess.cell import Cells, probe_cost
from paceline_bench.assess.fleet import fleet, said
from paceline_bench.assess.load import producer
from paceline_bench.assess.place import SERVER, place
from paceline_bench.assess.plan import WAYS, Plan, Rate, Way, told
from paceline_bench.assess.seen import Gap, Seen
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.process import Process, worker
from paceline_bench.server import server_facts
from paceline_bench.templates import Templates
from paceline_bench.workers import writes

BROKEN: Final = (
    PacelineError, aiohttp.ClientError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError, psutil.Error,
)  # fmt: skip
"""What a database or a gateway that has too much to do answers, or no longer can; TimeoutError is an OSError."""


async def assess(run: Run, plan: Plan) -> AsyncIterator[Seen | Gap]:
    """Everything that is planned; a station that fails costs its own cells."""
    stations = list(plan.stations())
    with PostgresServer.start(durable=True, settings=SERVER) as server:
        run.versions["postgres"], settings = await server_facts(server)
        run.settings.update(settings, max_connections=SERVER["max_connections"])
        async with Templates(server) as templates:
            with run.report.task("assess", len(stations) * len(plan.seconds)) as task:
                for way, runners, rates in stations:
                    async for each in _station(run, server, templates, plan, way, runners, rates):
                        name = f"{WAYS[way]}, {runners} runners"
                        more = f", {told(each.rate)}: p95 {each.claim_p95:.0f} ms" if isinstance(each, Seen) else ""
                        task.advance(f"{name}{more}")
                        yield each


async def _station(
    run: Run, server: PostgresServer, templates: Templates, plan: Plan, way: Way, runners: int, rates: Sequence[Rate]
) -> AsyncIterator[Seen | Gap]:
    left = list(rates)
    try:
        async with place(server, templates, way, run.report) as here:
            probe_wal, began = await probe_cost(here.url), time.monotonic()
            async with fleet(here, runners) as crew, producer(here) as produce:
                run.report.line(f"{WAYS[way]}: {runners} runners after {time.monotonic() - began:.0f} s")
                with Process(worker("writes", here.url)) as probe:
                    await said(probe, writes.WROTE)
                    cells = Cells(here, crew, produce, probe, probe_wal)
                    while left:
                        seen = await cells.measure(runners, left[0], plan.warm, plan.seconds[left[0]])
                        yield seen
                        left.pop(0)
    except NotMeasuredError as error:
        for rate in left:
            yield Gap(way, runners, rate, str(error))
    except BROKEN as error:
        sys.stderr.write(f"{way}, {runners} runners: {error!r}\n")  # may name a place, which no result does
        for rate in left:
            yield Gap(way, runners, rate, type(error).__name__)
