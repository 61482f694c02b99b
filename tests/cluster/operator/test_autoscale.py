"""A group that follows its queue: from zero and back, over restarts, without its database; and every size explained."""

import asyncio
import json
from datetime import timedelta

import pytest

from cluster.operator.site import Site
from cluster.operator.watcher import Watcher
from cluster.place import Json
from paceline import NewJob
from paceline.claims import Finished, Incarnation, Registration
from paceline.cron import Cron, CronEntry
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.scaling import DecisionSeen
from support.proxy import proxy

pytestmark = pytest.mark.timeout(300)
AT_ONCE = {"scaleDown": {"stabilizationWindowSeconds": 0}}


def scaled(site: Watcher, name: str = "builds", **autoscaling: object) -> Json:
    """A group of one-slot runners that scales by its queue; spec.replicas is there to be ignored."""
    given = {"maxReplicas": 3, "behavior": AT_ONCE, **autoscaling}
    return site.group(7, name=name, slots=1, autoscaling=given)


async def sized(site: Watcher, size: int, name: str = "builds") -> Json:
    """Wait until a group has so many runners, all of them ready; its status then."""
    status: Json = {}

    async def is_so() -> bool:
        nonlocal status
        status = await site.status(name)
        reasons = {each["type"]: each["reason"] for each in status.get("conditions", ())}
        return (status.get("replicas"), status.get("readyReplicas"), reasons.get("Ready")) == (size, size, "AsWanted")

    await site.until(is_so, f"{name} has {size} runners")
    return status


async def decisions(site: Watcher) -> list[DecisionSeen]:
    reader = Reader(site.queue.database)
    (group,) = await reader.find_groups("builds", site.install)
    return await reader.list_decisions(group.id)


async def test_a_burst_wakes_a_group_at_zero_which_grows_shrinks_and_says_why(operated: Watcher) -> None:
    site = operated
    await site.apply(scaled(site))
    await sized(site, 0)
    made = await site.queue.enqueue_many([NewJob(kind="wait", payload="go")] * 5)
    status = await sized(site, 3)
    told = status["recommendation"]
    assert (told["replicas"], told["reason"], told["limitedBy"]) == (3, "TooManyReplicas", "maxReplicas")
    assert told["inputs"]["ready"] + told["inputs"]["running"] == 5
    assert (await site.says("ScalingActive", "Internal"))["status"] == "True"
    assert (await site.says("ScalingLimited", "TooManyReplicas"))["status"] == "True"
    await site.allow("go")
    await sized(site, 0)
    assert {(await site.job(each.id)).state for each in made} == {"done"}
    assert not await site.queue.database.value("SELECT count(*) FROM paceline.attempt"), "nobody was interrupted"

    async def explained() -> bool:
        found = await decisions(site)
        sizes = [each.replicas for each in reversed(found)]
        return 3 in sizes and sizes[-1] == 0

    await site.until(explained, "the database has every decision")
    await site.tells("Rescaled", "3 runners")
    group = json.loads(await site.run("get", "rgrp", "builds", "-o", "json"))
    assert group["spec"]["replicas"] == 7, "nobody wrote it"


async def test_delayed_and_retried_jobs_wake_a_group_at_zero_each_in_its_time(operated: Site) -> None:
    site = operated
    await site.apply(scaled(site))
    await sized(site, 0)
    (late,) = await site.queue.enqueue_many([NewJob(kind="count", delay=timedelta(seconds=3))])
    assert (await sized(site, 0))["replicas"] == 0
    await site.finished(late.id)
    await sized(site, 0)
    again = await site.queue.enqueue("later")
    await site.until(lambda: site.marked("tried"), "the first try failed")
    await sized(site, 0)
    await site.finished(again.id)


async def test_keyed_and_cron_jobs_wake_a_group_at_zero_when_they_can_be_claimed(operated: Site) -> None:
    site = operated
    laptop = await Incarnation.register(
        site.queue.database, Registration(name="laptop", pool="builds", kinds=("*",), lease=timedelta(hours=1))
    )
    _, blocked = await site.queue.enqueue_many([NewJob(kind="count", key="one")] * 2)
    held = (await laptop.step(1)).jobs
    assert len(held) == 1
    await laptop.drain()
    await site.apply(scaled(site))
    await sized(site, 0)
    await site.says("ScalingActive", "Internal")
    assert (await site.job(blocked.id)).state == "blocked"
    assert (await site.status())["replicas"] == 0, "what cannot be claimed starts nobody"
    await laptop.step(0, [Finished(each) for each in held])
    await site.finished(blocked.id)
    await sized(site, 0)
    ran = len(site.marked("runs"))
    entry = CronEntry(name="often", schedule="* * * * * *", job=NewJob(kind="count"))
    await Cron(site.queue.database, "builds").put(entry)
    await site.until(lambda: len(site.marked("runs")) > ran, "a tick of the clock woke it")


async def test_work_is_found_when_nobody_can_listen(site: Site) -> None:
    await site.secret(url=site.url, listenUrl="postgresql://nobody@127.0.0.1:1/nowhere")
    site.start_operator()
    await site.apply(scaled(site))
    await sized(site, 0)
    await site.queue.enqueue("count")
    await site.until(lambda: site.marked("runs"), "the look that is due every second has found it")


async def test_a_window_is_not_forgotten_by_the_next_operator(site: Site) -> None:
    site.start_operator()
    await site.apply(scaled(site, behavior={"scaleDown": {"stabilizationWindowSeconds": 3600}}))
    made = await site.queue.enqueue_many([NewJob(kind="wait", payload="go")] * 2)
    await sized(site, 2)
    site.touch("go")
    await site.done_by(*made)

    async def stabilized() -> bool:
        told = (await site.status()).get("recommendation", {})
        return (told.get("replicas"), told.get("reason")) == (2, "ScaleDownStabilized")

    await site.until(stabilized, "both are kept although nothing is to be done")
    await site.stop_operator()
    site.start_operator()
    await site.run("annotate", "rgrp", "builds", "look=again")

    async def looked() -> bool:
        return (await decisions(site))[0].reason == "ScaleDownStabilized" and "leads" in site.log_of(1)

    await site.until(looked, "the next one has decided the same")
    await asyncio.sleep(3)  # it has looked some times, and could have let them go
    assert (await site.status())["replicas"] == 2


async def test_without_its_database_a_group_keeps_its_size_or_grows_to_its_fallback_also_from_zero(site: Site) -> None:
    async with proxy(site.url) as way:
        await site.secret(url=way.url)
        await site.secret("runners", url=site.url)
        site.start_operator()
        database = {"secretRef": {"name": "db"}, "runnerSecretRef": {"name": "runners"}}
        for name, more in (("frozen", {}), ("builds", {"fallback": {"replicas": 2, "afterSeconds": 3}})):
            group = scaled(site, name, **more)
            group["spec"]["database"] = database
            await site.apply(group)
            await sized(site, 0, name)
        way.refuse()
        way.cut()
        await site.says("ScalingActive", "QueueUnreadable")

        async def grown() -> bool:
            return len(await site.pods()) == 2

        await site.until(grown, "the fallback is there")
        assert {each["metadata"]["labels"]["paceline.dev/group"] for each in await site.pods()} == {"builds"}

        async def told() -> bool:
            return bool((await site.status())["recommendation"]["reason"] == "Fallback")

        await site.until(told, "it says why")
        await site.queue.enqueue("count")
        await site.until(lambda: site.marked("runs"), "its runners reach the database, and work")
        way.refuse(False)
        await site.says("ScalingActive", "Internal")
        await sized(site, 0)


async def test_who_only_recommends_acts_on_nothing(operated: Site) -> None:
    site = operated
    group = scaled(site, mode="Recommend")
    group["spec"]["replicas"] = 1
    await site.apply(group)
    await sized(site, 1)
    await site.queue.enqueue_many([NewJob(kind="wait", payload="go")] * 3)

    async def recommended() -> bool:
        return bool((await site.status()).get("recommendation", {}).get("replicas") == 3)

    await site.until(recommended, "it says what it would do")
    assert (await site.says("ScalingActive", "RecommendOnly"))["status"] == "False"
    assert len(await site.pods()) == 1
    site.touch("go")


async def test_whoever_writes_replicas_of_an_internal_group_is_told_that_they_do_not_count(operated: Site) -> None:
    site = operated
    await site.apply(scaled(site, minReplicas=1))
    await sized(site, 1)
    await site.run("scale", "rgrp", "builds", "--replicas=2")

    async def warned() -> bool:
        return any(reason == "ReplicasIgnored" and "set to 2" in text for reason, text in await site.events())

    await site.until(warned, "an event says so")
    assert (await sized(site, 1))["replicas"] == 1


async def test_schedules_that_cannot_be_are_named_and_the_others_count(operated: Site) -> None:
    site = operated
    always = {"cron": "* * * * *", "durationSeconds": 120, "minReplicas": 1}
    never = {"cron": "0 0 30 2 *", "durationSeconds": 60, "minReplicas": 3}
    nowhere = {"cron": "* * * * *", "timezone": "Mars/Base", "durationSeconds": 60, "minReplicas": 3}
    await site.apply(scaled(site, schedules=[always, never, nowhere]))
    status = await sized(site, 1)
    assert status["recommendation"]["reason"] == "Schedule"
    told = (await site.says("ScalingActive", "InvalidAutoscaling"))["message"]
    assert "autoscaling.schedules[1].cron" in told
    assert "autoscaling.schedules[2].timezone" in told


async def test_two_groups_on_one_pool_share_its_jobs_by_how_far_they_may_grow(operated: Site) -> None:
    site = operated
    unset: dict[str, object] = {}  # with its window, or the first runner to claim would change all shares
    small = scaled(site, "small", maxReplicas=1, behavior=unset)
    large = scaled(site, "large", maxReplicas=3, behavior=unset)
    for group in (small, large):
        group["spec"]["pool"] = "builds"
        await site.apply(group)
    for name in ("small", "large"):
        await sized(site, 0, name)
    await Queue(site.queue.database, "builds").enqueue_many([NewJob(kind="wait", payload="go")] * 4)
    await sized(site, 3, "large")
    await sized(site, 1, "small")
    site.touch("go")


async def test_a_policy_counts_the_runners_that_came_also_under_the_operator_before(operated: Site) -> None:
    site = operated
    one = {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1800}]}}
    await site.apply(scaled(site, behavior=one))
    await sized(site, 0)
    await site.queue.enqueue_many([NewJob(kind="wait", payload="go")] * 3)
    status = await sized(site, 1)
    assert (status["recommendation"]["reason"], status["recommendation"]["limitedBy"]) == (
        "ScaleUpLimit",
        "behavior.scaleUp.policies",
    )
    saved = "SELECT jsonb_array_length(state -> 'changes') FROM paceline.scaling"
    await site.until(lambda: site.queue.database.value(saved), "the change is kept")
    await site.stop_operator()
    site.start_operator()
    await site.until(lambda: "leads" in site.log_of(1), "the next one acts")
    await asyncio.sleep(4)  # it has looked some times, and could have started one
    assert (await site.status())["replicas"] == 1
    site.touch("go")
