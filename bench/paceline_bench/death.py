"""A runner that dies with a job in its hands: how soon somebody else may have the job."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from paceline import NewJob, Queue
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement
from paceline_bench.node import node
from paceline_bench.operator_command import operator
from paceline_bench.server import connected
from paceline_bench.site import NAMESPACE, PODS, Site, until
from paceline_dev.node.api import Api
from paceline_dev.node.node import LocalNode
from paceline_dev.node.wire import Json

if TYPE_CHECKING:
    import asyncpg

LOOK_SECONDS: Final = 0.003
SECONDS: Final = 30.0
HOLDERS: Final = """
SELECT j.id, i.hostname FROM paceline.job j JOIN paceline.incarnation i ON i.id = j.incarnation WHERE j.state = 'x'"""
CLAIMABLE: Final = "SELECT losses > 0 FROM paceline.job WHERE id = $1"
LEFT: Final = "SELECT count(*) FROM paceline.job"
DONE: Final = """
SELECT (SELECT count(*) FROM paceline.history WHERE outcome = 'd')
     + (SELECT count(*) FROM paceline.history_late WHERE outcome = 'd')"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """So many runners, each of which dies so often; a runner that dies often is started again ever later."""

    runners: int
    rounds: int


FULL: Final = Size(runners=10, rounds=2)
QUICK: Final = Size(runners=5, rounds=1)


async def deaths(site: Site, size: Size) -> list[Measurement]:
    """Milliseconds from the moment at which a watch shows the end of the container to the job being claimable.

    We see the watch's event late if this process is busy, which flatters. So the time from the kill is told as well:
    it cannot be too short.
    """
    await site.trust(site.url)
    found: list[Measurement] = []
    async with node(site) as place, operator(site), connected(site.url) as connection:
        queue = await Queue.connect(site.url, "builds", connections=1)
        try:
            await site.add_group("builds", size.runners)
            for number in range(size.rounds):
                await site.settled(1, size.runners)
                found += await _round(site, place, queue, connection, size.runners)
                await _all_done(connection, (number + 1) * size.runners)
        finally:
            await queue.close()
    return found


async def _round(
    site: Site, place: LocalNode, queue: Queue, connection: "asyncpg.Connection[asyncpg.Record]", runners: int
) -> list[Measurement]:
    """Every runner gets a job, then each in turn dies; at any moment of the operator's own rhythm."""
    await queue.enqueue_many([NewJob(kind="hold") for _ in range(runners)])

    async def all_held() -> bool:
        return len(await connection.fetch(HOLDERS)) == runners

    await until(all_held, "each runner holds a job")
    found: list[Measurement] = []
    pause = random.Random(0)  # noqa: S311 -- no secret
    for job, pod in [tuple(each) for each in await connection.fetch(HOLDERS)]:
        await asyncio.sleep(pause.uniform(0.5, 1.5))
        async with _ending(site.api, pod) as shown:
            killed = time.monotonic()
            place.oom_kill(NAMESPACE, pod)
            claimable = await _claimable(connection, job)
            found.append(Measurement("death_to_claimable", (claimable - await shown) * 1000, "ms"))
            found.append(Measurement("kill_to_claimable", (claimable - killed) * 1000, "ms"))
    return found


async def _claimable(connection: "asyncpg.Connection[asyncpg.Record]", job: int) -> float:
    """When its row says so. A job that is gone has been claimed and done meanwhile: then we looked too late."""
    statement = await connection.prepare(CLAIMABLE)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        found = await statement.fetchval(job)
        now = time.monotonic()
        if found is None:
            raise NotMeasuredError("a job was done before it was seen to be claimable")
        if found:
            return now
        await asyncio.sleep(LOOK_SECONDS)
    raise NotMeasuredError("a dead runner's job never became claimable")


@contextlib.asynccontextmanager
async def _ending(api: Api, pod: str) -> "AsyncIterator[asyncio.Task[float]]":
    """When the API server shows that the pod's container has ended; it is watched from the beginning of the block."""
    listed = await api.get(PODS, fieldSelector=f"metadata.name={pod}")
    task = asyncio.create_task(_shown(api, pod, listed["metadata"]["resourceVersion"]))
    try:
        await asyncio.sleep(0.1)  # the watch is on its way
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _shown(api: Api, pod: str, version: str) -> float:
    async with asyncio.timeout(SECONDS):
        async for _, found in api.watch(PODS, version, fieldSelector=f"metadata.name={pod}"):
            if ended(found):
                return time.monotonic()
    raise NotMeasuredError("the API server never showed the death of a runner")


def ended(pod: Json) -> bool:
    """Whether a container of it has terminated."""
    every = (pod.get("status") or {}).get("containerStatuses", ())
    return any((each.get("state") or {}).get("terminated") for each in every)


async def _all_done(connection: "asyncpg.Connection[asyncpg.Record]", jobs: int) -> None:
    """What was lost was run again."""

    async def is_so() -> bool:
        return bool(await connection.fetchval(LEFT) == 0)

    await until(is_so, "all jobs were run again")
    if (done := await connection.fetchval(DONE)) != jobs:
        raise NotMeasuredError(f"{done} of {jobs} jobs were done well")
