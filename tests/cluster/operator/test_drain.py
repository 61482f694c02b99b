"""Nodes that are emptied: the runner hears of it before it is a kill, and finishes."""

import asyncio

import pytest

from cluster.operator.site import Site

pytestmark = pytest.mark.timeout(300)


async def _busy(site: Site) -> str:
    await site.queue.enqueue("wait", "go")
    await site.until(lambda: site.marked("begun"), "the job has begun")
    return next(str(each.hostname) for each in await site.registrations() if each.held)


async def test_a_cordoned_node_drains_its_runners_and_others_take_their_place(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    pod = await _busy(site)
    await site.run("cordon", site.node.name)

    async def draining() -> bool:
        return any(each.state == "draining" for each in await site.registrations())

    await site.until(draining, "the runner drains")
    await site.until(lambda: _two(site), "another pod waits for a node")
    site.touch("go")
    await site.until(lambda: _gone_well(site, pod), "the first one has left by itself")
    await site.run("uncordon", site.node.name)
    await site.settled(1)
    assert site.marked("cancelled") == []
    assert len(site.marked("begun")) == 1


async def _two(site: Site) -> bool:
    return len(await site.pods()) == 2


async def _gone_well(site: Site, pod: str) -> bool:
    found = [each for each in await site.pods() if each["metadata"]["name"] == pod]
    return not found or found[0]["status"]["phase"] == "Succeeded"


async def test_an_eviction_passes_the_budget_and_waits_for_the_job(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    pod = await _busy(site)
    draining = asyncio.create_task(
        site.run("drain", site.node.name, "--ignore-daemonsets", "--force", "--timeout=180s",
                 "--pod-selector=paceline.dev/group=builds")
    )  # fmt: skip

    async def leaving() -> bool:
        return any(each["metadata"].get("deletionTimestamp") for each in await site.pods())

    await site.until(leaving, "the pod is told to go")
    assert not draining.done()
    site.touch("go")
    told = await draining
    assert "drained" in told, told
    assert pod in told
    assert site.marked("cancelled") == []
    await site.run("uncordon", site.node.name)
    await site.settled(1)


async def test_a_budget_keeps_enough_runners(operated: Site) -> None:
    site = operated
    await site.apply(site.group(2, disruptionBudget={"maxUnavailable": 0}))
    await site.settled(2)
    pod = sorted(await site.pod_names())[0]

    async def refused() -> bool:
        told = await site.run(
            "drain",
            site.node.name,
            "--ignore-daemonsets",
            "--force",
            "--timeout=2s",
            "--dry-run=server",
            "--pod-selector=paceline.dev/group=builds",
        )
        return "would violate" in told or "Cannot evict" in told

    await site.until(refused, "the API server refuses")
    await site.run("uncordon", site.node.name)
    assert pod in await site.pod_names()


async def test_a_long_job_keeps_node_consolidation_away(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    pod = await _busy(site)
    marks = f"/api/v1/namespaces/{site.namespace}/pods/{pod}"
    assert "karpenter.sh/do-not-disrupt" not in ((await site.api.get(marks))["metadata"].get("annotations") or {})
    await site.queue.database.value("UPDATE paceline.job SET claimed_at = claimed_at - interval '2 minutes'")

    async def protected() -> bool:
        found = (await site.api.get(marks))["metadata"].get("annotations") or {}
        return (
            found.get("karpenter.sh/do-not-disrupt") == "true"
            and found.get("cluster-autoscaler.kubernetes.io/safe-to-evict") == "false"
        )

    await site.until(protected, "the pod is marked")
    site.touch("go")

    async def free() -> bool:
        return "karpenter.sh/do-not-disrupt" not in ((await site.api.get(marks))["metadata"].get("annotations") or {})

    await site.until(free, "and is not any more")
