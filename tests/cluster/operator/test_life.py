"""A group from its first apply to its deletion, as a user sees it."""

import asyncio

import pytest

from cluster.operator.site import Site
from paceline import NewJob

pytestmark = pytest.mark.timeout(300)


async def test_an_applied_group_has_runners_pods_and_a_budget_and_its_jobs_are_done(operated: Site) -> None:
    site = operated
    await site.apply(site.group(2, slots=2))
    status = await site.settled(2)
    assert (status["replicas"], status["busyReplicas"], status["idleReplicas"]) == (2, 0, 2)
    assert status["selector"] == "paceline.dev/group=builds"
    assert status["pool"] == "builds"
    names = {each["metadata"]["name"] for each in await site.runners()}
    assert await site.pod_names() == {f"{name}-1" for name in names}
    budget = await site.api.get(f"/apis/policy/v1/namespaces/{site.namespace}/poddisruptionbudgets/builds")
    assert budget["spec"]["minAvailable"] == 1
    made = await site.queue.enqueue_many([NewJob(kind="count", payload=number) for number in range(20)])
    await site.until(lambda: len(site.marked("runs")) == 20, "all jobs are done")
    assert len({line.split()[0] for line in site.marked("runs")}) == len(made)
    table = await site.run("get", "rgrp")
    assert "AsWanted" in table
    assert "True" in await site.run("get", "rnr")


async def test_a_pod_or_a_runner_that_somebody_deletes_comes_back(operated: Site) -> None:
    site = operated
    await site.apply(site.group(2))
    await site.settled(2)
    first = sorted(await site.pod_names())[0]
    await site.run("delete", "pod", first, "--wait=false")
    await site.until(lambda: _gone(site, first), "the pod is gone")
    await site.settled(2)
    assert first.removesuffix("-1") + "-2" in await site.pod_names()
    name = sorted(each["metadata"]["name"] for each in await site.runners())[0]
    await site.run("delete", "rnr", name)
    await site.until(lambda: _runners(site, 2, without=name), "another Runner is there")
    await site.settled(2)


async def test_a_deleted_group_drains_and_leaves_its_jobs(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    await site.queue.enqueue("wait", "go")
    await site.until(lambda: site.marked("begun"), "the job has begun")
    later = await site.queue.enqueue(NewJob(kind="mail", payload={"to": "x"}, tags=("nobody-has-this",)))
    deleting = asyncio.create_task(site.run("delete", "rgrp", "builds", "--timeout=180s"))
    await site.says("Ready", "Deleting")
    assert await site.pod_names(), "it waits for the job"
    site.touch("go")
    assert "deleted" in await deleting
    assert await site.runners() == []
    assert await site.registrations() == []
    detail = await site.queue.database.value("SELECT count(*) FROM paceline.job WHERE id = $1", later.id)
    assert detail == 1


async def _gone(site: Site, pod: str) -> bool:
    return pod not in await site.pod_names()


async def _runners(site: Site, number: int, without: str) -> bool:
    names = {each["metadata"]["name"] for each in await site.runners()}
    return len(names) == number and without not in names
