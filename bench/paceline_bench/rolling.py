"""Fifty runners at work get a new revision: by a RunnerGroup, and by a Deployment of the same pods.

Every runner always finds a job. Most take five seconds, a few longer than the thirty seconds that Kubernetes gives a
pod by default. What is counted is what the database shows: who may claim, and how attempts ended.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from paceline import NewJob, Queue
from paceline_bench.cycles import INTERRUPTED
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Curve, Measurement
from paceline_bench.node import node
from paceline_bench.operator_command import operator
from paceline_bench.server import connected
from paceline_bench.site import GROUPS, NAMESPACE, Site, group, until
from paceline_dev.node.api import MERGE
from paceline_dev.node.wire import Json

if TYPE_CHECKING:
    import asyncpg

NAME: Final = "builds"
WHAT: Final = ("seconds", "least", "most", "interrupted")
SUBJECTS: Final = ("group", "deployment", "deployment_30s")
FIGURES: Final = tuple(f"{what}_{who}" for who in SUBJECTS for what in WHAT)
CURVES: Final = tuple(f"capacity_{who}" for who in SUBJECTS)
LONG_SHARE: Final = 0.04
SURGE: Final = 5
SAMPLE: Final = 0.25
PATIENCE: Final = 600.0
DEPLOYMENTS: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
CAPACITY: Final = """
SELECT count(*) FROM paceline.incarnation WHERE state = 'a' AND lease_until > clock_timestamp()"""
WAITING: Final = "SELECT count(*) FROM paceline.job WHERE state IN ('r', 's')"
RUNNING: Final = "SELECT count(*) FROM paceline.job WHERE state = 'x'"
NEWEST: Final = "SELECT max(id) FROM paceline.incarnation"
LEFT: Final = "SELECT count(*) FROM paceline.incarnation WHERE state <> 'z' AND id <= $1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many runners, and how many seconds their jobs take: most of them, and a few."""

    runners: int
    short: float = 5.0
    long: float = 45.0
    watched: int = 5
    """Seconds that the group watches its first new runner."""


FULL: Final = Size(runners=50)
QUICK: Final = Size(runners=8)
Roll = Callable[[], Awaitable[bool]]
"""Whether all runners have the new revision."""


async def by_group(site: Site, size: Size, curves: dict[str, Curve]) -> list[Measurement]:
    """A RunnerGroup: one to try, then five at a time."""
    await site.trust(site.url)
    strategy = {"maxSurge": SURGE, "maxUnavailable": 0, "canary": {"runners": 1, "observeSeconds": size.watched}}
    async with node(site), operator(site), connected(site.url) as connection:
        made = group(NAME, size.runners)
        made["spec"]["updateStrategy"] = strategy
        await site.api.post(GROUPS, made)
        await site.settled(1, size.runners, PATIENCE)
        before = (await site.api.get(f"{GROUPS}/{NAME}"))["status"]["currentRevision"]

        async def begin() -> None:
            await site.api.patch(f"{GROUPS}/{NAME}", {"spec": {"template": changed()}}, MERGE)

        async def done() -> bool:
            status = (await site.api.get(f"{GROUPS}/{NAME}"))["status"]
            over = status["currentRevision"] not in (before, None)
            return over and not await _older(site, "paceline.dev/group")

        return await _measure("group", site, connection, size, begin, done, curves)


async def by_deployment(site: Site, size: Size, curves: dict[str, Curve], *, ours: bool) -> list[Measurement]:
    """A Deployment; with our hook and the time that a RunnerGroup's pods have, or with Kubernetes' own 30 seconds."""
    who = "deployment" if ours else "deployment_30s"
    await site.trust(site.url)
    async with node(site), connected(site.url) as connection:
        await site.api.post(DEPLOYMENTS, deployment(size.runners, ours=ours))
        await _wait_for(connection, size.runners)

        async def begin() -> None:
            await site.api.patch(f"{DEPLOYMENTS}/{NAME}", {"spec": {"template": changed()}}, MERGE)

        async def done() -> bool:
            found = await site.api.get(f"{DEPLOYMENTS}/{NAME}")
            status = found["status"]
            seen = status.get("observedGeneration") == found["metadata"]["generation"]
            return bool(
                seen
                and status.get("updatedReplicas") == status.get("readyReplicas") == size.runners
                and status.get("replicas") == size.runners
                and not await _older(site, "app")
            )

        return await _measure(who, site, connection, size, begin, done, curves)


def deployment(replicas: int, *, ours: bool) -> Json:
    """The pods that an operator would make, owned by a Deployment; each runner's name is its pod's."""

    def secret(key: str) -> Json:
        return {"valueFrom": {"secretKeyRef": {"name": "db", "key": key}}}

    def field(path: str) -> Json:
        return {"valueFrom": {"fieldRef": {"fieldPath": path}}}

    variables = {
        "PACELINE_DATABASE_URL": secret("url"),
        "PACELINE_POOL": {"value": NAME},
        "PACELINE_NODE_ID": field("metadata.name"),
        "PACELINE_POD_IP": field("status.podIP"),
        "PACELINE_LISTEN": {"value": "$(PACELINE_POD_IP):8080"},
        "PACELINE_SLOTS": {"value": "1"},
    }
    runner: Json = {
        "name": "runner",
        "image": "bench",
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": name, **value} for name, value in variables.items()],
        "readinessProbe": {"httpGet": {"path": "/health/ready", "port": 8080}, "periodSeconds": 2},
    }
    pod: Json = {"containers": [runner]}
    if ours:
        runner["lifecycle"] = {"preStop": {"exec": {"command": ["paceline", "drain", "--wait"]}}}
        pod["terminationGracePeriodSeconds"] = 330
    return {
        "metadata": {"name": NAME},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": NAME}},
            "strategy": {"rollingUpdate": {"maxSurge": SURGE, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": {"app": NAME}}, "spec": pod},
        },
    }


def changed() -> Json:
    """What makes a new revision of either."""
    return {"metadata": {"annotations": {"bench/version": "2"}}}


async def _older(site: Site, label: str) -> int:
    """Pods that do not have it yet, also those that still finish."""
    return sum(
        label in each["metadata"].get("labels", {})
        and (each["metadata"].get("annotations") or {}).get("bench/version") != "2"
        for each in await site.pods()
    )


async def _wait_for(connection: "asyncpg.Connection[asyncpg.Record]", runners: int) -> None:
    async def all_there() -> bool:
        return bool(await connection.fetchval(CAPACITY) >= runners)

    await until(all_there, f"{runners} runners", PATIENCE, pause=0.5)


async def _measure(
    who: str, site: Site, connection: "asyncpg.Connection[asyncpg.Record]", size: Size,
    begin: Callable[[], Awaitable[None]], done: Roll, curves: dict[str, Curve],
) -> list[Measurement]:  # fmt: skip
    points: list[tuple[float, float]] = []
    most = 0
    async with _load(site, size):

        async def all_busy() -> bool:
            return bool(await connection.fetchval(RUNNING) >= size.runners)

        await until(all_busy, "all runners have a job", PATIENCE, pause=0.25)
        before, newest = await connection.fetchval(INTERRUPTED), await connection.fetchval(NEWEST)
        began = time.monotonic()
        await begin()
        while not await done():
            at = time.monotonic() - began
            points.append((at, float(await connection.fetchval(CAPACITY))))
            most = max(most, await site.count_pods())
            if at > PATIENCE:
                raise NotMeasuredError(f"{who}: it was not over in time")
            await asyncio.sleep(SAMPLE)
        took = time.monotonic() - began

        async def all_gone() -> bool:
            return not await connection.fetchval(LEFT, newest)

        # a killed one is lost when its lease ends
        await until(all_gone, "the database has seen the end of all runners of before", PATIENCE, pause=0.5)
        interrupted = await connection.fetchval(INTERRUPTED) - before
    curves[f"capacity_{who}"] = Curve(f"capacity_{who}", "runners", tuple(points))
    return [
        Measurement(f"seconds_{who}", took, "s"),
        Measurement(f"least_{who}", min(value for _, value in points), "runners"),
        Measurement(f"most_{who}", most, "pods"),
        Measurement(f"interrupted_{who}", interrupted, "attempts"),
    ]


@contextlib.asynccontextmanager
async def _load(site: Site, size: Size) -> AsyncIterator[None]:
    """Always a few more jobs than runners."""
    luck = random.Random(0)  # noqa: S311 -- no secret
    queue = await Queue.connect(site.url, NAME, connections=2)

    async def feed() -> None:
        while True:
            missing = size.runners - await queue.database.value(WAITING)
            if missing > 0:
                seconds = [size.long if luck.random() < LONG_SHARE else size.short for _ in range(missing)]
                await queue.enqueue_many([NewJob(kind="nap", payload=each) for each in seconds])
            await asyncio.sleep(0.5)

    feeding = asyncio.create_task(feed())
    try:
        yield
        if feeding.done():
            raise NotMeasuredError("nobody enqueued any more") from feeding.exception()
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        await queue.close()
