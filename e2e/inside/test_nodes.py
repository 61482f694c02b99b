"""A node stands still, with everything on it, and says nothing."""

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator

import pytest

from cluster.place import Json
from e2e.inside.places import KindSite
from paceline.reading import Reader

pytestmark = pytest.mark.timeout(420)


@contextlib.asynccontextmanager
async def stopped(node: str) -> AsyncIterator[None]:
    """All its processes, until the end of the block."""
    await docker("pause", node)
    try:
        yield
    finally:
        await docker("unpause", node)


async def docker(*words: str) -> None:
    """The engine's client, which is on the PATH."""
    await asyncio.to_thread(subprocess.run, ["docker", *words], check=True, capture_output=True)


def spread(group: Json) -> Json:
    """One runner on each worker."""
    group["spec"]["template"]["spec"]["topologySpreadConstraints"] = [
        {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
         "labelSelector": {"matchLabels": {"paceline.dev/group": group["metadata"]["name"]}}},
    ]  # fmt: skip
    return group


async def test_jobs_of_a_node_that_is_stopped_are_done_elsewhere_and_it_changes_nothing_when_it_wakes(
    site: KindSite,
) -> None:
    await site.apply(spread(site.group(2, slots=1)))
    await site.settled(2)
    made = await site.queue.enqueue("wait", "go")
    await site.running(made.id)
    first = (await site.job(made.id)).runner
    (node,) = [each["spec"]["nodeName"] for each in await site.pods()
               if each["metadata"]["labels"]["paceline.dev/runner"] == first]  # fmt: skip

    async def elsewhere() -> bool:
        job = await site.job(made.id)
        return job.state == "running" and job.runner != first

    async with stopped(node):
        await site.until(elsewhere, "another runner has the job of the stopped node")
    await site.sh("wait", f"node/{node}", "--for=condition=Ready", "--timeout=120s")
    await site.allow("go")
    await site.finished(made.id)
    job = await site.job(made.id)
    assert (job.losses, job.runner != first) == (1, True)
    assert len(await site.attempts(made.id)) == 1
    assert await Reader(site.queue.database).list_dead() == []
    await site.settled(2)
