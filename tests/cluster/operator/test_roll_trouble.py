"""Updates while something else happens: each comes to its end, and nobody's work is lost."""

import asyncio
from datetime import timedelta

import pytest

from cluster.operator.rolling import QUICK, begun, changed, revisions, rolled
from cluster.operator.site import Site
from cluster.operator.test_leaders import leads
from cluster.operator.watcher import Watcher
from paceline import NewJob
from support.proxy import proxy

pytestmark = pytest.mark.timeout(300)
DRAIN = "paceline.dev/drain"


async def test_another_change_in_the_middle_is_where_it_ends(operated: Watcher) -> None:
    site = operated
    group = site.group(3, updateStrategy=QUICK)
    await site.apply(group)
    first = (await site.settled(3))["currentRevision"]
    await site.apply(changed(group, VERSION="2"))
    await begun(site, first)
    second = (await site.status())["updateRevision"]
    await site.apply(changed(group, VERSION="3"))
    third = await rolled(site, 3, first)
    assert third not in (first, second)


async def test_a_group_that_grows_and_shrinks_meanwhile_has_the_right_size_in_the_end(operated: Watcher) -> None:
    site = operated
    group = site.group(2, updateStrategy=QUICK)
    await site.apply(group)
    first = (await site.settled(2))["currentRevision"]
    await site.apply(changed(group, VERSION="2"))
    await begun(site, first)
    await site.run("scale", "rgrp", "builds", "--replicas=4")
    await rolled(site, 4, first)
    now = (await site.status())["currentRevision"]
    group["spec"]["replicas"] = 4
    await site.apply(changed(group, VERSION="3"))
    await begun(site, now)
    await site.run("scale", "rgrp", "builds", "--replicas=1")
    await rolled(site, 1, now)


async def test_the_leader_goes_last_hands_over_once_and_gets_it_back(operated: Watcher) -> None:
    site = operated
    group = site.group(1, dispatch="Leader", updateStrategy=QUICK)
    await site.apply(group)
    await site.settled(1)
    (oldest,) = [each["metadata"]["name"] for each in await site.runners()]
    await site.run("scale", "rgrp", "builds", "--replicas=3")
    first = (await site.settled(3))["currentRevision"]
    await leads(site, oldest)
    epoch = (await site.status())["leader"]["epoch"]
    group["spec"]["replicas"] = 3
    await site.apply(changed(group, VERSION="2"))

    async def only_the_leader_is_left() -> bool:
        found = await revisions(site)
        return bool(found.get(oldest) == first) and sum(each != first for each in found.values()) >= 2

    await site.until(only_the_leader_is_left, "all others have it", 90)
    await rolled(site, 3, first)

    async def back() -> bool:
        return bool((await site.status())["leader"] == {"runner": oldest, "epoch": epoch + 2})

    await site.until(back, f"one hand-over away and one back, of {oldest} {epoch}", 90)


async def test_a_runner_that_is_drained_meanwhile_comes_back_with_the_new_revision(operated: Watcher) -> None:
    site = operated
    group = site.group(2, updateStrategy=QUICK)
    await site.apply(group)
    first = (await site.settled(2))["currentRevision"]
    drained = sorted(each["metadata"]["name"] for each in await site.runners())[0]
    await site.apply(changed(group, VERSION="2"))
    await begun(site, first)
    await site.run("annotate", "rnr", drained, f"{DRAIN}=true")

    async def others() -> bool:
        status = await site.status()
        return bool(status["currentRevision"] == status["updateRevision"] != first)

    await site.until(others, "the others have it", 90)
    await site.run("annotate", "rnr", drained, f"{DRAIN}-")
    await site.settled(2)
    assert set((await revisions(site)).values()) == {(await site.status())["currentRevision"]}


async def test_a_database_that_is_away_meanwhile_only_holds_it_up(site: Site) -> None:
    async with proxy(site.url) as way:
        await site.secret("db", url=way.url)
        site.start_operator()
        group = site.group(2, updateStrategy=QUICK)
        group["spec"]["database"]["runnerSecretRef"] = {"name": "pods"}
        await site.secret("pods", url=site.url)
        await site.apply(group)
        first = (await site.settled(2))["currentRevision"]
        await site.apply(changed(group, VERSION="2"))
        await begun(site, first)
        way.refuse()
        way.cut()
        await site.says("QueueReachable", "Unreachable")
        before = await revisions(site)
        await asyncio.sleep(timedelta(seconds=2).total_seconds())
        assert await revisions(site) == before, "nobody is restarted blindly"
        way.refuse(refusing=False)
        await rolled(site, 2, first)


async def test_a_group_at_zero_tries_the_new_revision_when_it_wakes(operated: Watcher) -> None:
    site = operated
    scaling = {"minReplicas": 0, "maxReplicas": 3, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}
    group = site.group(0, updateStrategy=QUICK, autoscaling=scaling)
    await site.apply(group)
    await site.finished((await site.queue.enqueue("count")).id)

    async def asleep() -> bool:
        return (await site.status()).get("replicas") == 0

    await site.until(asleep, "it sleeps")
    first = (await site.status())["currentRevision"]
    await site.apply(changed(group, VERSION="2"))
    await site.says("Progressing", "RollingOut")
    assert (await site.status())["currentRevision"] == first
    made = await site.queue.enqueue_many([NewJob(kind="nap", payload=1.0)] * 6)
    await site.done_by(*made)

    async def new() -> bool:
        status = await site.status()
        return bool(status["currentRevision"] == status["updateRevision"] != first)

    await site.until(new, "what woke up had it", 90)


async def test_an_update_that_waits_for_a_long_job_says_for_which(operated: Watcher) -> None:
    site = operated
    group = site.group(1, updateStrategy=QUICK)
    await site.apply(group)
    first = (await site.settled(1))["currentRevision"]
    held = await site.queue.enqueue("wait", "go")
    await site.running(held.id)
    await site.queue.database.value(
        "UPDATE paceline.job SET claimed_at = claimed_at - interval '301 s' WHERE id = $1 RETURNING true", held.id
    )
    await site.apply(changed(group, VERSION="2"))
    told = await site.says("Progressing", "RolloutStalled", seconds=90)
    assert f"it waits for job {held.id} on " in told["message"]
    assert told["status"] == "False"
    await site.allow("go")
    await rolled(site, 1, first)
    assert await site.attempts(held.id) == [], "nobody interrupted it"
