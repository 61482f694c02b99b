"""What it costs to ask how deep the queue is: the question that scaling asks all the time."""

import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from paceline import NewJob, Queue
from paceline.database import Database
from paceline.operating import Operating
from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.measure import Measurement
from paceline_bench.queue import contents
from paceline_bench.server import connected
from paceline_bench.systems import PAYLOAD, System
from paceline_bench.systems.paceline import INSTALL, POOL

PEERS: Final = ("pgqueuer", "procrastinate", "saq")
NAMES: Final = ("depth_1m", "depth_200_pools", *(f"depth_1m_{peer}" for peer in PEERS))
POOLS: Final = 200
JOBS: Final = 50
"""In each of the pools."""
WARM: Final = 5
Asking = Callable[[str], AbstractAsyncContextManager[Callable[[], Awaitable[object]]]]


async def measure(run: Run, server: PostgresServer, million: int, times: int) -> list[Measurement]:
    """One database after the other: the question does not change what it asks about."""
    # imported here: the tests of this package run where the peers are not installed
    from paceline_bench.systems import paceline, pgqueuer, procrastinate, saq

    found: list[Measurement] = []
    with run.report.task("depth", len(NAMES)) as task:
        if run.wants("depth_1m"):
            async with server.database() as url:
                await contents.fill(url, paceline.SYSTEM, million)
                await put_groups(url, [POOL])
                found += await ask("depth_1m", url, paceline.depth, times)
            task.advance("one pool")
        if run.wants("depth_200_pools"):
            async with server.database() as url:
                await paceline.install(url)
                await fill_pools(url, POOLS)
                found += await ask("depth_200_pools", url, paceline.depth, times)
            task.advance("200 pools")
        for system in (pgqueuer.SYSTEM, procrastinate.SYSTEM, saq.SYSTEM):
            if run.wants(f"depth_1m_{system.name}"):
                found += await _of_peer(server, system, million, times)
                task.advance(system.name)
    return found


async def _of_peer(server: PostgresServer, system: System, million: int, times: int) -> list[Measurement]:
    assert system.depth is not None
    async with server.database() as url:
        await contents.fill(url, system, million)
        return await ask(f"depth_1m_{system.name}", url, system.depth, max(5, times // 5))


async def ask(name: str, url: str, asking: Asking, times: int) -> list[Measurement]:
    """Milliseconds of each time, once connections and plans are there."""
    found = []
    async with asking(url) as question:
        for number in range(WARM + times):
            began = time.perf_counter()
            await question()
            if number >= WARM:
                found.append(Measurement(name, (time.perf_counter() - began) * 1000, "ms"))
    return found


async def fill_pools(url: str, pools: int) -> None:
    """So many pools, each with a group and a few jobs."""
    names = [f"pool-{number}" for number in range(pools)]
    await put_groups(url, names)
    async with await Database.open(url, size=1) as database:
        for name in names:
            await Queue(database, name).enqueue_many([NewJob(kind="noop", payload=dict(PAYLOAD))] * JOBS)
    async with connected(url) as connection:
        await connection.execute("VACUUM (ANALYZE)")


async def put_groups(url: str, pools: list[str]) -> None:
    """A group for each pool, as the operator puts it."""
    async with await Database.open(url, size=1) as database:
        operating = Operating(database)
        for pool in pools:
            await operating.put_group(install=INSTALL, namespace="bench", name=pool, pool=pool)
