"""Leaders of groups, here and on a kubelet: the oldest; shown; and another when it must not or cannot lead."""

import pytest

from cluster.operator.watcher import Watcher

pytestmark = pytest.mark.timeout(300)
TAINTS = "paceline.dev/taints"


async def leads(site: Watcher, runner: str | None) -> None:
    """Wait until a Runner leads, or nobody does."""

    async def is_so() -> bool:
        status = await site.status()
        return bool((status.get("leader") or {}).get("runner") == runner)

    await site.until(is_so, f"{runner or 'nobody'} leads")


async def led(site: Watcher) -> tuple[str, str]:
    """A group with a leader, and a younger one beside it."""
    await site.apply(site.group(1, dispatch="Leader"))
    await site.settled(1)
    (first,) = [each["metadata"]["name"] for each in await site.runners()]
    await leads(site, first)
    await site.run("scale", "rgrp", "builds", "--replicas=2")
    await site.settled(2)
    (second,) = [name for each in await site.runners() if (name := each["metadata"]["name"]) != first]
    await leads(site, first)
    return first, second


async def marked(site: Watcher, runner: str) -> None:
    """Wait until the pod of one Runner has the leader's label, and no other."""

    async def is_so() -> bool:
        found = [each["metadata"]["labels"] for each in await site.pods()]
        return [each["paceline.dev/runner"] for each in found if "paceline.dev/leader" in each] == [runner]

    await site.until(is_so, f"the pod of {runner} is marked")


async def test_the_leader_is_shown_and_hands_over_when_it_is_tainted(operated: Watcher) -> None:
    site = operated
    first, second = await led(site)
    epoch = (await site.status())["leader"]["epoch"]
    assert (await site.condition("LeaderElected"))["status"] == "True"
    await marked(site, first)
    assert await site.done_by(await site.queue.enqueue("count")) == [first]
    await site.run("annotate", "rnr", first, f"{TAINTS}=maint:NoLead")
    await leads(site, second)
    assert (await site.status())["leader"]["epoch"] > epoch
    await marked(site, second)
    assert await site.done_by(await site.queue.enqueue("count")) == [second]
    await site.run("annotate", "rnr", second, f"{TAINTS}=maint:NoLead")
    assert (await site.says("LeaderElected", "NobodyEligible"))["status"] == "False"
    await leads(site, None)
    await site.tells("LeaderChanged", f"{second} leads")
    await site.tells("NobodyEligible")


async def test_whom_a_person_promotes_leads_until_the_promotion_ends(operated: Watcher) -> None:
    site = operated
    first, second = await led(site)
    group = f"{site.namespace}/builds"
    assert f"{second} leads {group}" in await site.paceline("promote", second, "--group", group)
    await leads(site, second)
    await marked(site, second)
    assert await site.done_by(await site.queue.enqueue("count")) == [second]
    await site.run("annotate", "rnr", second, f"{TAINTS}=maint:NoLead")
    await leads(site, first)
    await site.run("annotate", "rnr", second, f"{TAINTS}-")
    await leads(site, first)
    await site.paceline("promote", second, "--group", group)
    await leads(site, second)
    await site.paceline("promote", "--clear", "--group", group)
    await leads(site, first)


async def test_when_the_leaders_pod_is_deleted_another_leads(operated: Watcher) -> None:
    site = operated
    first, second = await led(site)
    pod = (await site.runner(first))["status"]["podName"]
    await site.run("delete", "pod", pod, "--wait=false")
    await leads(site, second)
    assert await site.done_by(await site.queue.enqueue("count")) == [second]
    await marked(site, second)
