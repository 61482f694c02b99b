"""Work for a group without runners: how soon there is a pod for one job, and how soon there are 400 for 400."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final

from paceline import NewJob, Queue
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Curve, Measurement
from paceline_bench.operator_command import operator
from paceline_bench.scaled import block, sizes
from paceline_bench.site import PODS, Site, until

GROUP: Final = "builds"
WAKE: Final = "enqueue_to_pod"
BURST: Final = "jobs_400_to_pods"
WANTED: Final = "burst_wanted"
MADE: Final = "burst_pods"
JOBS: Final = 400
LOOK: Final = 1.1
"""Seconds between two looks of the operator. A group that has just come to zero is known to be there after one."""
SECONDS: Final = 30.0


async def wake(site: Site, tries: int) -> list[Measurement]:
    """Seconds from before the enqueue to the watch event of the pod; then the job is cancelled, and all is as before.

    The next try begins at any moment between two looks of the operator.
    """
    pause = random.Random(0)  # noqa: S311 -- no secret
    found = []
    async with _at_zero(site, 1) as queue:
        for _ in range(tries):
            await asyncio.sleep(LOOK + pause.uniform(0.1, 0.1 + LOOK))
            found.append(Measurement(WAKE, await _try(site, queue), "s"))
            await _back_to_zero(site)
    return found


async def burst(site: Site, jobs: int, curves: dict[str, Curve]) -> list[Measurement]:
    """Seconds from before the enqueue to as many pods as there are jobs."""
    made: list[tuple[float, float]] = [(0.0, 0.0)]
    async with _at_zero(site, jobs) as queue:
        await asyncio.sleep(2 * LOOK)
        moment, began = datetime.now(UTC), time.monotonic()

        async def all_there() -> bool:
            count = await site.count_pods()
            if count != made[-1][1]:
                made.append((time.monotonic() - began, float(count)))
            return count >= jobs

        await queue.enqueue_many([NewJob(kind="noop") for _ in range(jobs)])
        await until(all_there, f"{jobs} pods")
        took = time.monotonic() - began

        async def decided() -> bool:
            curves[WANTED] = Curve(WANTED, "runners", await sizes(queue.database, GROUP, moment))
            return curves[WANTED].points[-1][1] == jobs

        await until(decided, "the decision is in the database")
    curves[MADE] = Curve(MADE, "pods", tuple(made))
    return [Measurement(BURST, took, "s")]


@contextlib.asynccontextmanager
async def _at_zero(site: Site, most: int) -> AsyncIterator[Queue]:
    """An operator with one group of up to so many runners, all of which would wait for a node for ever."""
    await site.trust(site.url)
    async with operator(site):
        await site.add_group(GROUP, 0, scheduled=False, autoscaling=block(most))
        await site.settled(1, 0)
        queue = await Queue.connect(site.url, GROUP, connections=1)
        try:
            yield queue
        finally:
            await queue.close()


async def _try(site: Site, queue: Queue) -> float:
    version = (await site.api.get(PODS))["metadata"]["resourceVersion"]
    shown = asyncio.create_task(_shown(site, version))
    try:
        await asyncio.sleep(0.1)  # the watch is on its way
        began = time.monotonic()
        job = await queue.enqueue("noop")
        took = await shown - began
    finally:
        shown.cancel()
        await asyncio.gather(shown, return_exceptions=True)
    await queue.cancel(job.id)
    return took


async def _shown(site: Site, version: str) -> float:
    """When the API server shows a new pod."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SECONDS):
            async for kind, _ in site.api.watch(PODS, version):
                if kind == "ADDED":
                    return time.monotonic()
    raise NotMeasuredError("no pod came for a job")


async def _back_to_zero(site: Site) -> None:
    async def nobody() -> bool:
        return await site.count_runners() == 0 and await site.count_pods() == 0

    await until(nobody, "the group is at zero again")
    await site.settled(1, 0)
