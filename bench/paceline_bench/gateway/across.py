"""A job goes in at one gateway, and a runner polls another: what wakes it has to cross by the database."""

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

import aiohttp

from paceline.testing import PostgresServer
from paceline.tokens import Tokens
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.gateway.crowd import Size, said, steadily
from paceline_bench.gateway.door import Door, door, gateway
from paceline_bench.measure import Measurement, percentile
from paceline_bench.process import Process, worker
from paceline_bench.systems.paceline import POOL
from paceline_bench.templates import Templates
from paceline_bench.workers import pollers

RUNNERS: Final = 10
RATE: Final = 20
"""Jobs a second: so few that somebody always waits, and each job has to wake him."""
NAMES: Final = ("across_p50", "across_p99")


async def measure(run: Run, server: PostgresServer, templates: Templates, size: Size) -> list[Measurement]:
    """Each time with two gateways and a database of its own."""
    found: list[Measurement] = []
    with run.report.task("from one gateway to another", size.rounds) as task:
        for _ in range(size.rounds):
            async with door(server, templates) as near, gateway(near.database.address.url, near.database) as far:
                took = await _took(near, far, size.seconds)
            p50, p99 = statistics.median(took), percentile(took, 99)
            found += [Measurement("across_p50", p50, "ms"), Measurement("across_p99", p99, "ms")]
            task.advance(f"p99 {p99:.0f} ms")
    return found


async def _took(near: Door, far: Door, seconds: float) -> list[float]:
    """Milliseconds from before each request at the one to the answer of a poll at the other."""
    tokens = Tokens(near.database)
    made = [await tokens.create("rk", pool=POOL, runner=f"runner-{number}") for number in range(RUNNERS)]
    headers = {"Authorization": f"Bearer {await tokens.create('pk', pool=POOL)}"}
    with tempfile.TemporaryDirectory(prefix="paceline-bench-") as folder:
        file = Path(folder) / "tokens"
        file.write_text(json.dumps(made))
        with Process(worker("pollers", "", far.url, file)) as crowd:
            await said(crowd, pollers.READY, 1)
            async with aiohttp.ClientSession(near.url, headers=headers) as session:

                async def enqueue() -> None:
                    job = {"kind": "noop", "payload": {"at": time.time()}}
                    async with session.post("/v1/jobs", json=job) as answer:
                        if not answer.ok:
                            raise NotMeasuredError(f"a job was answered {answer.status}")

                return await said(crowd, pollers.TOOK, await steadily(enqueue, seconds, RATE))
