"""Scale-down, memory, and a node that is drained, with real containers."""

import asyncio

import pytest

from e2e.inside.places import KindSite
from paceline import NewJob

pytestmark = pytest.mark.timeout(300)


async def test_scale_down_keeps_the_busy_one(site: KindSite) -> None:
    await site.apply(site.group(3))
    await site.settled(3)
    made = await site.queue.enqueue("wait", "go")
    await site.running(made.id)
    busy = (await site.job(made.id)).runner
    await site.run("scale", "rgrp", "builds", "--replicas=1")

    async def only() -> bool:
        return [each["metadata"]["name"] for each in await site.runners()] == [busy]

    await site.until(only, "only the busy one is left")
    assert (await site.job(made.id)).state == "running"
    await site.run("scale", "rgrp", "builds", "--replicas=0")
    await site.allow("go")
    await site.finished(made.id)
    assert await site.attempts(made.id) == []
    await site.settled(0)


async def test_a_runner_that_runs_out_of_memory_is_replaced_and_its_job_keeps_the_cause(site: KindSite) -> None:
    await site.apply(site.group(1, memory="256Mi"))
    await site.settled(1)
    made = await site.queue.enqueue("eat", 1024)
    await site.finished(made.id)
    job = await site.job(made.id)
    assert (job.state, job.losses) == ("done", 1)
    assert [each.cause for each in await site.attempts(made.id)] == ["OOMKilled"]


async def test_a_node_that_is_drained_lets_its_runners_finish(site: KindSite) -> None:
    """Two workers; the budget lets the eviction through, the hook lets the job end, and the successor is elsewhere."""
    await site.apply(site.group(2))
    await site.settled(2)
    made = await site.queue.enqueue(NewJob(kind="nap", payload=15))
    await site.running(made.id)
    busy = (await site.job(made.id)).runner
    (pod,) = [each for each in await site.pods() if each["metadata"]["labels"]["paceline.dev/runner"] == busy]
    node = pod["spec"]["nodeName"]
    try:
        drain = asyncio.create_task(
            site.sh("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=150s")
        )
        await site.finished(made.id)
        code, said = await drain
        assert code == 0, said
        assert await site.attempts(made.id) == []
        await site.settled(2)
        assert {each["spec"]["nodeName"] for each in await site.pods()}.isdisjoint({node})
    finally:
        await site.sh("uncordon", node)
