"""Updates while something else happens: each comes to its end, and nobody's work is lost."""

import asyncio
from datetime import timedelta

import pytest

from cluster.operator.site import Site
from cluster.operator.test_leaders import leads
from cluster.operator.test_roll import QUICK, changed, revisions, rolled
from cluster.operator.watcher import Watcher
from paceline import NewJob
from paceline.reading import Reader
from support.proxy import proxy

pytestmark = pytest.mark.timeout(300)
DRAIN = "paceline.dev/drain"


async def one_has_it(site: Watcher, first: str) -> None:
    """Wait until the update has begun."""

    async def is_so() -> bool:
        return bool(set((await revisions(site)).values()) - {first})

    await site.until(is_so, "somebody has the new revision", 90)


async def test_ten_runners_under_load_lose_repeat_and_fail_no_job(operated: Watcher) -> None:
    site = operated
    group = site.group(10, slots=2, updateStrategy={**QUICK, "maxSurge": 3})
    await site.apply(group)
    first = (await site.settled(10))["currentRevision"]
    made = []
    rolling = asyncio.create_task(_roll(site, group, first))
    while not rolling.done():
        made += await site.queue.enqueue_many([NewJob(kind="nap", payload=0.4, max_tries=1, max_losses=0)] * 10)
        await asyncio.sleep(0.4)
    await rolling
    assert len(made) > 50
    who = await site.done_by(*made)
    assert len(set(who)) > 3
    assert [each for each in made if await site.attempts(each.id)] == [], "no attempt but the one that did it"
    assert await Reader(site.queue.database).list_dead() == []


async def _roll(site: Watcher, group: dict[str, object], first: str) -> None:
    await site.apply(changed(group, VERSION="2"))
    await rolled(site, 10, first)


async def test_another_change_in_the_middle_is_where_it_ends(operated: Watcher) -> None:
    site = operated
    group = site.group(3, updateStrategy=QUICK)
    await site.apply(group)
    first = (await site.settled(3))["currentRevision"]
    await site.apply(changed(group, VERSION="2"))
    await one_has_it(site, first)
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
    await one_has_it(site, first)
    await site.run("scale", "rgrp", "builds", "--replicas=4")
    await rolled(site, 4, first)
    now = (await site.status())["currentRevision"]
    group["spec"]["replicas"] = 4
    await site.apply(changed(group, VERSION="3"))
    await one_has_it(site, now)
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
    await one_has_it(site, first)
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
        await one_has_it(site, first)
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
