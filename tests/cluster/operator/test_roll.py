"""New revisions: rolled out while jobs run, watched, and taken back where they fail."""

import asyncio
import signal

import pytest

from cluster.operator.rolling import QUICK, begun, changed, never_fewer, revisions, rolled
from cluster.operator.site import Site
from cluster.operator.watcher import Watcher
from paceline import NewJob

pytestmark = pytest.mark.timeout(300)


async def test_a_new_template_reaches_all_runners_and_interrupts_nobody(operated: Watcher) -> None:
    site = operated
    group = site.group(3, updateStrategy=QUICK)
    await site.apply(group)
    first = (await site.settled(3))["currentRevision"]
    names = {each["metadata"]["name"] for each in await site.runners()}
    held = await site.queue.enqueue("wait", "go")
    await site.running(held.id)
    busy = next(name for name, jobs in (await site.holding()).items() if jobs)
    await site.apply(changed(group, VERSION="2"))

    async def others_have_it() -> bool:
        found = await revisions(site)
        return all(found.get(name, first) != first for name in names - {busy})

    await site.until(others_have_it, "all but the busy one have it", 120)
    assert (await site.job(held.id)).state == "running"
    await site.says("Ready", "RollingOut")
    await site.allow("go")
    await site.finished(held.id)
    await rolled(site, 3, first)
    assert await site.attempts(held.id) == [], "nobody interrupted it"
    await site.tells("RolloutStarted")
    await site.tells("RolledOut")


async def test_an_image_that_does_not_start_takes_nobody_away_and_is_taken_back(operated: Watcher) -> None:
    site = operated
    group = site.group(2, updateStrategy=QUICK)
    await site.apply(group)
    first = (await site.settled(2))["currentRevision"]
    (container,) = group["spec"]["template"]["spec"]["containers"]
    good, container["image"] = container["image"], "nowhere/none:1"
    async with never_fewer(site, 2):
        await site.apply(group)
        told = await site.says("Progressing", "RolledBack", seconds=120)
    assert "cannot start" in told["message"] or "ended before they had registered" in told["message"]
    status = await site.status()
    assert (status["currentRevision"], status["failedRevision"]) == (first, status["updateRevision"])

    async def alone_again() -> bool:
        return set((await revisions(site)).values()) == {first} and len(await site.pods()) == 2

    await site.until(alone_again, "only the old revision is left", 60)
    assert (await site.status())["readyReplicas"] == 2
    assert await site.done_by(await site.queue.enqueue("count"))
    container["image"] = good
    await site.apply(changed(group, VERSION="3"))
    await rolled(site, 2, first)
    assert "failedRevision" not in await site.status()


async def test_a_revision_whose_jobs_fail_is_taken_back_with_the_figures(operated: Site) -> None:
    site = operated
    strategy = {"canary": {"runners": 1, "observeSeconds": 30, "maxFailureRatio": 0.2}}
    group = site.group(2, updateStrategy=strategy, slots=4)
    await site.apply(group)
    first = (await site.settled(2))["currentRevision"]
    await site.apply(changed(group, SHOP_FAILS="1"))

    async def feed() -> bool:
        await site.queue.enqueue_many([NewJob(kind="moody", max_tries=1)] * 20)
        return (await site.condition("Progressing")).get("reason") == "RolledBack"

    await site.until(feed, "its jobs fail, and it is taken back", 120)
    message = (await site.condition("Progressing"))["message"]
    assert "jobs failed on revision" in message
    assert (await site.status())["currentRevision"] == first
    await site.tells("RolledBack", message)
    where = f'group="builds",namespace="{site.namespace}"'
    await site.counts(*(f'paceline_rollouts_total{{{where},what="{what}"}} 1.0' for what in ("begun", "failed")))
    assert 'what="done"' not in (await site.get("/metrics"))[1]


async def test_a_paused_update_waits_and_a_restart_is_an_update(operated: Watcher) -> None:
    site = operated
    await site.apply(site.group(2, updateStrategy=QUICK))
    first = (await site.settled(2))["currentRevision"]
    await site.run("annotate", "rgrp", "builds", "paceline.dev/rollout-paused=true")
    await site.run("annotate", "rgrp", "builds", "paceline.dev/restartedAt=now")
    await site.says("Progressing", "RolloutPaused")
    await asyncio.sleep(2)
    assert set((await revisions(site)).values()) == {first}
    await site.run("annotate", "rgrp", "builds", "paceline.dev/rollout-paused-")
    await rolled(site, 2, first)


async def test_an_operator_killed_during_an_update_changes_nothing_about_its_end(operated: Site) -> None:
    site = operated
    group = site.group(3, updateStrategy=QUICK)
    await site.apply(group)
    first = (await site.settled(3))["currentRevision"]
    async with never_fewer(site, 3):
        await site.apply(changed(group, VERSION="2"))
        await begun(site, first)
        await site.stop_operator(signal.SIGKILL)
        site.start_operator()
        await rolled(site, 3, first)


async def test_one_runner_is_restarted_by_its_own_annotation(operated: Watcher) -> None:
    site = operated
    await site.apply(site.group(2))
    await site.settled(2)
    first, second = sorted(each["metadata"]["name"] for each in await site.runners())
    await site.run("annotate", "rnr", first, "paceline.dev/restartedAt=2026-11-18T00:00:00Z")

    async def restarted() -> bool:
        return bool((await site.runner(first))["status"]["podName"] == f"{first}-2")

    await site.until(restarted, "it has another pod")
    await site.settled(2)
    assert (await site.runner(second))["status"]["podName"] == f"{second}-1"


async def test_a_person_restarts_follows_and_undoes_from_the_command_line(operated: Site) -> None:
    site = operated
    way = ("--kubeconfig", str(site.kubeconfig), "-n", site.namespace)
    group = site.group(2, updateStrategy=QUICK)
    await site.apply(group)
    first = (await site.settled(2))["currentRevision"]
    assert "restarts" in await site.paceline("restart", "builds", *way)
    told = await site.paceline("rollout", "status", "builds", "--timeout", "2m", *way)
    assert "all runners have revision" in told
    await site.settled(2)
    assert "wait until rollout resume" in await site.paceline("rollout", "pause", "builds", *way)
    await site.apply(changed(group, VERSION="2"))
    await site.says("Progressing", "RolloutPaused")
    await site.paceline("rollout", "resume", "builds", *way)
    second = (await site.status())["currentRevision"]
    await rolled(site, 2, second)
    listed = await site.paceline("rollout", "history", "builds", *way)
    assert [line.split()[0] for line in listed.splitlines()[1:]] == ["3", "2", "1"]
    assert "goes back to revision 1" in await site.paceline("rollout", "undo", "builds", "--to-revision", "1", *way)
    third = (await site.status())["currentRevision"]
    assert await rolled(site, 2, third) == first, "template and restart are what they were"
    await site.counts(
        f'paceline_rollouts_total{{group="builds",namespace="{site.namespace}",what="done"}} 3.0',
        f'paceline_runners_updated{{group="builds",namespace="{site.namespace}"}} 2.0',
    )
