"""Leaders in the cluster, and runners outside of it: seen, tainted, led, and forgotten."""

import asyncio
import signal
import time

import pytest

from cluster.operator.site import Site
from cluster.place import Json
from paceline import NewJob

pytestmark = pytest.mark.timeout(150)
TAINTS = "paceline.dev/taints"


async def leads(site: Site, runner: str | None) -> None:
    """Wait until a Runner leads, or nobody does."""

    async def is_so() -> bool:
        status = await site.status()
        return bool((status.get("leader") or {}).get("runner") == runner)

    await site.until(is_so, f"{runner or 'nobody'} leads")


async def led(site: Site, replicas: int = 2) -> Json:
    """A group with one leader."""
    await site.apply(site.group(replicas, dispatch="Leader"))
    await site.settled(replicas)

    async def shown() -> bool:
        return "runner" in ((await site.status()).get("leader") or {})

    await site.until(shown, "the status names the leader")
    return await site.status()


async def is_there(site: Site, name: str) -> bool:
    return name in {each["metadata"]["name"] for each in await site.runners()}


async def test_the_leader_is_shown_and_hands_over_when_it_is_tainted(operated: Site) -> None:
    site = operated
    await led(site)
    names = {each["metadata"]["name"] for each in await site.runners()}
    first = (await site.status())["leader"]["runner"]
    (second,) = names - {first}
    epoch = (await site.status())["leader"]["epoch"]

    async def marked(runner: str) -> bool:
        found = [each["metadata"]["labels"] for each in await site.pods()]
        return [each["paceline.dev/runner"] for each in found if "paceline.dev/leader" in each] == [runner]

    await site.until(lambda: marked(first), "its pod is marked")
    await site.run("annotate", "rnr", first, f"{TAINTS}=maint:NoLead")
    await leads(site, second)
    assert (await site.status())["leader"]["epoch"] > epoch
    await site.until(lambda: marked(second), "the mark has moved")
    made = await site.queue.enqueue("count")
    await site.until(lambda: site.marked("runs"), "the new leader works")
    assert (await site.job(made.id)).runner == second
    await site.run("annotate", "rnr", second, f"{TAINTS}=maint:NoLead")
    await site.says("LeaderElected", "NobodyEligible")
    await leads(site, None)
    told = await site.events()
    assert any(reason == "LeaderChanged" and note.startswith(second) for reason, note in told)
    assert any(reason == "NobodyEligible" for reason, _ in told)


async def test_a_laptop_leads_while_the_cluster_is_tainted_and_its_jobs_wait_for_it(operated: Site) -> None:
    site = operated
    await led(site)
    await site.run("annotate", "rgrp", "builds", f"{TAINTS}=dev:NoClaim")
    await site.says("LeaderElected", "NobodyEligible")
    began = time.monotonic()
    laptop = site.start_laptop()
    await site.until(lambda: is_there(site, "laptop"), "it has an object")
    assert time.monotonic() - began < 15, "five seconds, and what this machine needs to start it"
    assert (await site.runner("laptop"))["spec"]["external"] is True
    await leads(site, "laptop")
    made = await site.queue.enqueue_many([NewJob(kind="count")] * 20)
    await site.until(lambda: len(site.marked("runs")) == 20, "all jobs are done")
    assert {(await site.job(each.id)).runner for each in made} == {"laptop"}

    laptop.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(laptop.wait, 20) == 0
    await leads(site, None)
    waiting = await site.queue.enqueue_many([NewJob(kind="count")] * 5)
    await asyncio.sleep(2)
    assert {(await site.job(each.id)).state for each in waiting} == {"ready"}, "no runner of the cluster takes one"
    site.start_laptop()
    await site.until(lambda: len(site.marked("runs")) == 25, "they waited for the laptop")
    assert {(await site.job(each.id)).runner for each in waiting} == {"laptop"}

    site.laptops[-1].send_signal(signal.SIGTERM)
    await site.run("annotate", "rgrp", "builds", f"{TAINTS}-")
    last = await site.queue.enqueue("count")
    await site.until(lambda: len(site.marked("runs")) == 26, "the cluster has taken over")
    assert (await site.job(last.id)).runner != "laptop"


async def test_an_outsider_is_tainted_drained_and_forgotten_a_day_after_it_was_last_seen(operated: Site) -> None:
    site = operated
    await site.apply(site.group(0))
    await site.settled(0)
    laptop = site.start_laptop()
    await site.until(lambda: is_there(site, "laptop"), "it has an object")
    await site.run("annotate", "rnr", "laptop", f"{TAINTS}=gpu:NoClaim")

    async def tainted() -> bool:
        return bool((await site.runner("laptop")).get("status", {}).get("taints") == "gpu:NoClaim")

    await site.until(tainted, "it shows its taint")
    made = await site.queue.enqueue("count")
    await asyncio.sleep(1)
    assert (await site.job(made.id)).state == "ready"
    await site.run("annotate", "--overwrite", "rnr", "laptop", f"{TAINTS}=maint:Drain")
    assert await asyncio.to_thread(laptop.wait, 30) == 0

    async def gone_home() -> bool:
        conditions = (await site.runner("laptop"))["status"]["conditions"]
        return [each["reason"] for each in conditions] == ["NotRegistered", "NotRegistered"]

    await site.until(gone_home, "its object says that it does not run")
    assert (await site.status())["replicas"] == 0
    await site.queue.database.value(
        "UPDATE paceline.runner SET seen_at = seen_at - interval '25 hours' WHERE name = 'laptop'"
    )
    await site.queue.database.value("UPDATE paceline.incarnation SET lease_until = lease_until - interval '25 hours'")
    await site.run("annotate", "rgrp", "builds", "look=again")

    async def forgotten() -> bool:
        return not await is_there(site, "laptop")

    await site.until(forgotten, "nobody remembers it")
    assert await site.queue.database.value("SELECT count(*) FROM paceline.runner") == 0


async def test_two_laptops_of_one_name_the_newer_wins(operated: Site) -> None:
    site = operated
    await site.apply(site.group(0))
    await site.settled(0)
    first = site.start_laptop()
    await site.until(lambda: is_there(site, "laptop"), "it has an object")
    site.start_laptop()
    assert await asyncio.to_thread(first.wait, 30) != 0
    log = (site.scratch / "laptop.log").read_text()
    assert "laptop" in log
    assert "registered" in log
    await site.queue.enqueue("count")
    await site.until(lambda: site.marked("runs"), "the newer one works")
