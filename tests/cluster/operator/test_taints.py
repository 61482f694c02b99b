"""Taints by kubectl, here and on a kubelet: in force in the claim, kept, shown, refused when they cannot be read."""

import asyncio

import pytest

from cluster.operator.watcher import Watcher
from cluster.place import Json
from paceline import NewJob

pytestmark = pytest.mark.timeout(300)
TAINTS = "paceline.dev/taints"
GROUP_TAINTS = "SELECT count(*) FROM paceline.group_taint"


async def two(site: Watcher) -> tuple[str, str]:
    """A group of two."""
    await site.apply(site.group(2))
    await site.settled(2)
    first, second = sorted(each["metadata"]["name"] for each in await site.runners())
    return first, second


async def shown(site: Watcher, runner: str, taints: str | None) -> None:
    """Wait until a Runner's status has these taints."""

    async def is_so() -> bool:
        return bool((await site.runner(runner)).get("status", {}).get("taints") == taints)

    await site.until(is_so, f"{runner} shows {taints}")


async def who_did(site: Watcher, *jobs: NewJob) -> list[str | None]:
    """Who has done these jobs."""
    return await site.done_by(*await site.queue.enqueue_many(jobs))


async def test_no_claim_keeps_jobs_away_that_do_not_tolerate_it_also_after_restarts(operated: Watcher) -> None:
    site = operated
    tainted, other = await two(site)
    assert "annotated" in await site.run("annotate", "rnr", tainted, f"{TAINTS}=gpu=bad:NoClaim")
    await shown(site, tainted, "gpu=bad:NoClaim")
    assert "gpu=bad:NoClaim" in await site.run("get", "rnr", tainted, "-o", "wide")
    assert set(await who_did(site, *[NewJob(kind="count")] * 8)) == {other}
    old = (await site.runner(tainted))["status"]["podName"]
    async with site.without_operator():
        await site.run("delete", "pod", old, "--wait=false")

    async def back() -> bool:
        status = (await site.runner(tainted))["status"]
        return bool(status["podName"] != old and status["conditions"][0]["status"] == "True")

    await site.until(back, "it is back in another pod")
    assert (await site.runner(tainted))["status"]["taints"] == "gpu=bad:NoClaim"
    assert set(await who_did(site, *[NewJob(kind="count")] * 8)) == {other}
    await site.run("annotate", "rnr", other, f"{TAINTS}=gpu=worse:NoClaim")
    await shown(site, other, "gpu=worse:NoClaim")
    assert await who_did(site, NewJob(kind="count", tolerations=("gpu=bad",))) == [tainted]
    await site.run("annotate", "rnr", tainted, f"{TAINTS}-")
    await shown(site, tainted, None)
    assert await who_did(site, NewJob(kind="count")) == [tainted], "it claims again"


async def test_drain_lets_a_runner_finish_replaces_it_and_lets_it_come_back(operated: Watcher) -> None:
    site = operated
    await two(site)
    made = await site.queue.enqueue("wait", "go")
    await site.running(made.id)
    busy = next(name for name, held in (await site.holding()).items() if held)
    await site.run("annotate", "rnr", busy, "paceline.dev/drain=true")

    async def replaced() -> bool:
        status = await site.status()
        return bool(status["readyReplicas"] == 2) and len(await site.pods()) == 3

    await site.until(replaced, "somebody stands in for it, and it still works")
    assert (await site.job(made.id)).state == "running"
    await site.allow("go")

    async def rests() -> bool:
        mine = [each for each in await site.pods() if each["metadata"]["labels"]["paceline.dev/runner"] == busy]
        return not mine and (await site.runner(busy))["status"]["conditions"][0]["reason"] == "Tainted"

    await site.until(rests, "it has given up its pod")
    assert (await site.job(made.id)).runner == busy
    assert await site.attempts(made.id) == [], "nobody interrupted it"
    await site.run("annotate", "rnr", busy, "paceline.dev/drain-")

    async def back() -> bool:
        return bool((await site.runner(busy))["status"]["podName"] == f"{busy}-2")

    await site.until(back, "it has another pod")
    await site.settled(2)
    assert busy in {each["metadata"]["name"] for each in await site.runners()}


async def test_a_groups_taint_holds_for_runners_that_come_later(operated: Watcher) -> None:
    site = operated
    group = site.group(1, taints=[{"key": "dev", "effect": "NoClaim"}])
    await site.apply(group)
    await site.settled(1)
    await site.run("scale", "rgrp", "builds", "--replicas=2")
    await site.settled(2)
    for each in await site.runners():
        await shown(site, each["metadata"]["name"], "dev:NoClaim")
    made = await site.queue.enqueue("count")
    await asyncio.sleep(1.5)
    assert (await site.job(made.id)).state == "ready"
    group["spec"]["taints"] = []
    group["spec"]["replicas"] = 2
    await site.apply(group)
    await site.finished(made.id)


async def test_a_taint_from_two_sources_holds_until_both_are_gone_and_a_job_may_tolerate_everything(
    operated: Watcher,
) -> None:
    site = operated
    group = site.group(1, taints=[{"key": "dev", "effect": "NoClaim"}])
    group["metadata"]["annotations"] = {TAINTS: "dev:NoClaim,gpu=bad:NoClaim"}
    await site.apply(group)
    await site.settled(1)
    (runner,) = [each["metadata"]["name"] for each in await site.runners()]
    await shown(site, runner, "dev:NoClaim,gpu=bad:NoClaim")
    assert await who_did(site, NewJob(kind="count", tolerations=("*",))) == [runner]
    await site.run("annotate", "rgrp", "builds", f"{TAINTS}-")
    await shown(site, runner, "dev:NoClaim")
    waiting = await site.queue.enqueue("count")
    assert await who_did(site, NewJob(kind="count", tolerations=("dev",))) == [runner]
    assert (await site.job(waiting.id)).state == "ready", "it is older, and was passed over"
    thousand = ",".join(f"t{number}:NoClaim" for number in range(1000))
    await site.run("annotate", "rgrp", "builds", f"{TAINTS}={thousand}")
    assert "has 1000 taints: give at most" in (await site.says("TaintsApplied", "InvalidTaint"))["message"]
    assert (await site.runner(runner))["status"]["taints"] == "dev:NoClaim"


async def test_a_drained_group_is_empty_until_it_is_not(operated: Watcher) -> None:
    site = operated
    names = set(await two(site))
    await site.run("annotate", "rgrp", "builds", "paceline.dev/drain=true")
    await site.says("Ready", "Drained")

    async def empty() -> bool:
        return await site.pods() == []

    await site.until(empty, "all have left")
    assert {each["metadata"]["name"] for each in await site.runners()} == names
    assert (await site.status())["replicas"] == 0
    made = await site.queue.enqueue("count")
    await site.run("annotate", "rgrp", "builds", "paceline.dev/drain-")
    await site.settled(2)
    assert {each["metadata"]["name"] for each in await site.runners()} == names
    await site.finished(made.id)
    await site.run("annotate", "rgrp", "builds", f"{TAINTS}=dev:NoClaim")
    await site.until(lambda: site.queue.database.value(GROUP_TAINTS), "the database has it")
    await site.run("annotate", "rgrp", "builds", f"{TAINTS}-")

    async def free() -> bool:
        return not await site.queue.database.value(GROUP_TAINTS)

    await site.until(free, "the database has it no more, although it was there only for a moment")


def taints_applied(thing: Json) -> Json:
    found: Json = next((each for each in thing["status"]["conditions"] if each["type"] == "TaintsApplied"), {})
    return found


async def test_a_taint_that_cannot_be_read_changes_nothing_and_is_quoted(operated: Watcher) -> None:
    site = operated
    tainted, _ = await two(site)
    await site.run("annotate", "rnr", tainted, f"{TAINTS}=gpu=bad:NoClaim")
    await shown(site, tainted, "gpu=bad:NoClaim")
    await site.run("annotate", "--overwrite", "rnr", tainted, f"{TAINTS}=gpu=bad:NoClam")

    async def told() -> bool:
        return 'unknown effect "NoClam"' in taints_applied(await site.runner(tainted)).get("message", "")

    await site.until(told, "the Runner says so")
    assert (await site.runner(tainted))["status"]["taints"] == "gpu=bad:NoClaim"
    await site.until(lambda: said(site, "Runner", "InvalidTaint", "NoClam"), "an event quotes it")
    await site.run("annotate", "rgrp", "builds", "paceline.dev/drain=yes")
    condition = await site.says("TaintsApplied", "InvalidTaint")
    assert condition["status"] == "False"
    assert 'paceline.dev/drain is "yes"' in condition["message"]
    await site.until(lambda: said(site, "RunnerGroup", "InvalidTaint", "yes"), "an event about the group quotes it")
    assert len(await site.pods()) == 2
    await site.run("annotate", "--overwrite", "rnr", tainted, f"{TAINTS}=")
    await site.run("annotate", "rgrp", "builds", "paceline.dev/drain-")
    await shown(site, tainted, None)
    assert (await site.says("TaintsApplied", "Applied"))["status"] == "True"
    assert taints_applied(await site.runner(tainted))["status"] == "True"


async def said(site: Watcher, kind: str, reason: str, words: str) -> bool:
    return any(each == reason and words in note for each, note in await site.events(kind))


async def test_a_runner_made_by_hand_is_told_so_and_not_counted(operated: Watcher) -> None:
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    own = {"name": "by-hand", "namespace": site.namespace}
    await site.apply({"apiVersion": "paceline.dev/v1alpha1", "kind": "Runner", "metadata": own,
                      "spec": {"groupRef": {"name": "builds"}}})  # fmt: skip

    async def told() -> bool:
        conditions = (await site.runner("by-hand")).get("status", {}).get("conditions", ())
        return [each["reason"] for each in conditions] == ["NotOurs", "NotRegistered"]

    await site.until(told, "it says that it is nobody's")
    status = await site.settled(1)
    assert status["replicas"] == 1
