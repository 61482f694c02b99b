"""A thousand runners that are none: their pods are said to be ready, and the bench registers and beats for them.

A thousand processes do not fit on one machine. To the operator these look like real ones: the pods and their statuses
are in the API server, the registrations with the pods' UIDs and their heartbeats are in the database.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final

from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline_bench.errors import NotMeasuredError
from paceline_bench.site import INSTALL, NAMESPACE, PODS, Site, until
from paceline_dev.node.api import MERGE
from paceline_dev.node.wire import Json

AT_ONCE: Final = 20
CONNECTIONS: Final = 4
HEARTBEAT: Final = 10.0
"""As a runner's."""
LABELS: Final = "paceline.dev"


@contextlib.asynccontextmanager
async def crew(site: Site, count: int) -> AsyncIterator[None]:
    """Bring so many pods to life as they appear, and keep them registered."""
    async with await Database.open(site.url, size=CONNECTIONS, application="bench") as database:
        alive = await _bring_to_life(site, database, count)
        beats = [asyncio.create_task(_beat(each, number / count)) for number, each in enumerate(alive)]
        try:
            yield
            if broken := [beat for beat in beats if beat.done()]:
                raise NotMeasuredError(f"{len(broken)} of {count} heartbeats ended") from broken[0].exception()
        finally:
            for beat in beats:
                beat.cancel()
            await asyncio.gather(*beats, return_exceptions=True)


async def _bring_to_life(site: Site, database: Database, count: int) -> list[Incarnation]:
    """All at the end, not one by one: the operator would look at each group twenty times."""

    async def all_there() -> bool:
        return await site.count_pods() == count

    await until(all_there, f"{count} pods", seconds=180, pause=0.25)
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(pod: Json) -> Incarnation:
        async with gate:
            incarnation = await Incarnation.register(database, registration(pod))
            await site.api.patch(f"{PODS}/{pod['metadata']['name']}/status", ready_status(), MERGE)
            return incarnation

    return list(await asyncio.gather(*map(one, await site.pods())))


async def _beat(incarnation: Incarnation, phase: float) -> None:
    """Spread over the interval, as those of runners that began at different times."""
    due = time.monotonic() + HEARTBEAT * phase
    while True:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await incarnation.heartbeat()
        due += HEARTBEAT


def registration(pod: Json) -> Registration:
    """What the runner in a pod would say of itself."""
    meta = pod["metadata"]
    labels = meta["labels"]
    return Registration(
        name=labels[f"{LABELS}/runner"],
        pool=labels[f"{LABELS}/group"],
        kinds=("noop",),
        install=INSTALL,
        namespace=NAMESPACE,
        group=labels[f"{LABELS}/group"],
        external=False,
        hostname=meta["name"],
        pod_uid=meta["uid"],
        revision=labels[f"{LABELS}/revision"],
    )


def ready_status() -> Json:
    """What a kubelet would say of a pod whose runner is ready."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    kinds = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    container = {
        "name": "runner", "image": "bench", "imageID": "bench", "ready": True, "started": True, "restartCount": 0,
        "state": {"running": {"startedAt": now}},
    }  # fmt: skip
    return {
        "status": {
            "phase": "Running",
            "startTime": now,
            "conditions": [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in kinds],
            "containerStatuses": [container],
        }
    }
