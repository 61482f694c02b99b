"""New revisions: rolled out while jobs run, watched, and taken back where they fail."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from cluster.operator.site import Site
from cluster.operator.watcher import Watcher
from cluster.place import Json
from paceline import NewJob

pytestmark = pytest.mark.timeout(240)
RUNNER = "paceline.dev/runner"
REVISION = "paceline.dev/revision"
QUICK = {"canary": {"runners": 1, "observeSeconds": 1}}


def changed(group: Json, **variables: str) -> Json:
    """The same group with other variables in its pods: another revision."""
    (container,) = group["spec"]["template"]["spec"]["containers"]
    kept = [each for each in container.get("env", []) if each["name"] not in variables]
    container["env"] = [*kept, *({"name": name, "value": value} for name, value in variables.items())]
    return group


async def revisions(site: Watcher) -> dict[str, str]:
    """The revision of every Runner that has a pod, by its newest one."""
    found: dict[str, tuple[int, str]] = {}
    for pod in await site.pods():
        labels = pod["metadata"]["labels"]
        boot = int(pod["metadata"]["name"].rpartition("-")[2])
        if boot > found.get(labels[RUNNER], (0, ""))[0] and not pod["metadata"].get("deletionTimestamp"):
            found[labels[RUNNER]] = boot, labels[REVISION]
    return {runner: revision for runner, (_, revision) in found.items()}


def has_rolled(site: Watcher, before: str) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        status = await site.status()
        return bool(status["currentRevision"] != before and status["currentRevision"] == status["updateRevision"])

    return is_so


async def rolled(site: Watcher, size: int, before: str) -> str:
    """Wait until all runners have another revision; which."""
    await site.until(has_rolled(site, before), "all have the new revision", 120)
    await site.settled(size)
    now: str = (await site.status())["currentRevision"]
    assert set((await revisions(site)).values()) == {now}
    return now


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
    assert (await site.condition("Ready"))["reason"] == "RollingOut"
    await site.allow("go")
    await site.finished(held.id)
    await rolled(site, 3, first)
    assert await site.attempts(held.id) == [], "nobody interrupted it"
    assert {"RolloutStarted", "RolledOut"} <= {reason for reason, _ in await site.events()}


async def test_an_image_that_does_not_start_takes_nobody_away_and_is_taken_back(operated: Watcher) -> None:
    site = operated
    group = site.group(2, updateStrategy=QUICK)
    await site.apply(group)
    first = (await site.settled(2))["currentRevision"]
    group["spec"]["template"]["spec"]["containers"][0]["image"] = "nowhere/none:1"
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
    group["spec"]["template"]["spec"]["containers"][0]["image"] = "shop"
    await site.apply(changed(group, VERSION="3"))
    await rolled(site, 2, first)
    assert "failedRevision" not in await site.status()


async def test_a_revision_whose_jobs_fail_is_taken_back_with_the_figures(operated: Watcher) -> None:
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
    assert ("RolledBack", message) in await site.events()


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


async def test_an_operator_killed_during_an_update_changes_nothing_about_its_end(operated: Watcher) -> None:
    site = operated
    group = site.group(3, updateStrategy=QUICK)
    await site.apply(group)
    first = (await site.settled(3))["currentRevision"]
    await site.apply(changed(group, VERSION="2"))

    async def begun() -> bool:
        return len(set((await revisions(site)).values())) > 1

    await site.until(begun, "somebody has the new revision", 60)
    async with site.without_operator():
        pass
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
