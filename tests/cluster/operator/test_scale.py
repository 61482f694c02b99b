"""Sizes by hand: up at once, down without hurting work, and not at all while paused."""

import asyncio

import pytest

from cluster.operator.site import Site
from paceline import NewJob

pytestmark = pytest.mark.timeout(300)


async def test_kubectl_scale_takes_idle_runners_only(operated: Site) -> None:
    site = operated
    await site.apply(site.group(3))
    await site.settled(3)
    await site.queue.enqueue("wait", "go")
    await site.until(lambda: site.marked("begun"), "the job has begun")
    busy = next(name for name, held in (await site.holding()).items() if held)
    assert "scaled" in await site.run("scale", "rgrp", "builds", "--replicas=1")
    await site.until(lambda: _only(site, busy), "only the busy one is left")
    assert len(site.marked("begun")) == 1
    assert "scaled" in await site.run("scale", "rgrp", "builds", "--replicas=0")
    await site.says("Ready", "ScalingDown")
    await asyncio.sleep(2.5)  # it tries every second, and the runner stays
    assert await _only(site, busy)
    site.touch("go")
    status = await site.settled(0)
    assert status["replicas"] == 0
    assert site.marked("cancelled") == []
    assert await site.queue.database.value("SELECT count(*) FROM paceline.attempt") == 0, "nothing was interrupted"
    await site.tells("ScaledUp")
    await site.tells("ScaledDown")


async def _only(site: Site, name: str) -> bool:
    return {each["metadata"]["name"] for each in await site.runners()} == {name}


async def test_the_scale_subresource_is_what_an_autoscaler_reads(operated: Site) -> None:
    site = operated
    await site.apply(site.group(2))
    await site.settled(2)
    found = await site.api.get(f"/apis/paceline.dev/v1alpha1/namespaces/{site.namespace}/runnergroups/builds/scale")
    assert found["spec"]["replicas"] == 2
    assert found["status"] == {"replicas": 2, "selector": "paceline.dev/group=builds"}
    pods = await site.run("get", "pods", "-l", found["status"]["selector"], "-o", "name")
    assert len(pods.split()) == 2


async def test_a_paused_group_claims_nothing_and_keeps_its_size(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    await site.run("annotate", "rgrp", "builds", "paceline.dev/paused=true")
    await site.says("Paused", "Paused")
    made = await site.queue.enqueue("count", 1)
    await site.run("scale", "rgrp", "builds", "--replicas=3")
    await asyncio.sleep(2)
    assert site.marked("runs") == []
    assert len(await site.pods()) == 1
    assert (await site.pods())[0]["status"]["containerStatuses"][0]["ready"]
    await site.run("annotate", "rgrp", "builds", "paceline.dev/paused-")
    await site.settled(3)
    await site.until(lambda: site.marked("runs"), "the job is done")
    assert site.marked("runs")[0].startswith(str(made.id))


async def test_ephemeral_runners_do_one_job_each(operated: Site) -> None:
    site = operated
    await site.apply(site.group(2, lifetime={"maxJobs": 1}, slots=1))
    await site.settled(2)
    first = {each["metadata"]["name"] for each in await site.runners()}
    await site.queue.enqueue_many([NewJob(kind="count", payload=number) for number in range(4)])
    await site.until(lambda: len(site.marked("runs")) == 4, "all are done")

    async def replaced() -> bool:
        now = {each["metadata"]["name"] for each in await site.runners()}
        return len(now) == 2 and not now & first

    await site.until(replaced, "all Runners are new ones")

    async def acked() -> bool:
        return bool(await site.queue.database.value("SELECT count(*) = 4 FROM paceline.history"))

    await site.until(acked, "the last result is stored")
    used = await site.queue.database.rows("SELECT incarnation, count(*) AS n FROM paceline.history GROUP BY 1")
    assert [row["n"] for row in used] == [1, 1, 1, 1]
    await site.settled(2)


async def test_an_old_runner_gets_a_new_pod_under_its_name(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1, lifetime={"maxAgeSeconds": 5}))
    await site.settled(1)
    name = (await site.runners())[0]["metadata"]["name"]

    async def renewed() -> bool:
        return bool(await site.pod_names() - {f"{name}-1"})

    await site.until(renewed, "another pod of the same Runner")
    assert {each.rpartition("-")[0] for each in await site.pod_names()} <= {name}
    assert [each["metadata"]["name"] for each in await site.runners()] == [name]
