"""Runners outside the cluster, here and beside a kubelet: seen, tainted, elected, and forgotten."""

import asyncio
import signal
import time

import pytest

from cluster.operator.laptop import start_laptop
from cluster.operator.test_leaders import leads, led
from cluster.operator.watcher import Watcher
from paceline import NewJob

pytestmark = pytest.mark.timeout(300)
TAINTS = "paceline.dev/taints"


async def is_there(site: Watcher, name: str) -> bool:
    return name in {each["metadata"]["name"] for each in await site.runners()}


async def is_registered(site: Watcher, name: str) -> bool:
    return any(each.runner == name and each.incarnation is not None for each in await site.registrations())


async def test_a_laptop_leads_while_the_cluster_is_tainted_and_its_jobs_wait_for_it(operated: Watcher) -> None:
    site = operated
    await led(site)
    await site.run("annotate", "rgrp", "builds", f"{TAINTS}=dev:NoClaim,dev:NoLead")
    await site.says("LeaderElected", "NobodyEligible")
    laptop = start_laptop(site)
    await site.until(lambda: is_registered(site, "laptop"), "it is in the database")
    began = time.monotonic()
    await site.until(lambda: is_there(site, "laptop"), "it has an object")
    assert time.monotonic() - began < 15, "five seconds, and what this machine needs"
    assert (await site.runner("laptop"))["spec"]["external"] is True
    await leads(site, "laptop")
    made = await site.queue.enqueue_many([NewJob(kind="count")] * 20)
    assert set(await site.done_by(*made)) == {"laptop"}

    laptop.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(laptop.wait, 120) == 0
    await leads(site, None)
    waiting = await site.queue.enqueue_many([NewJob(kind="count")] * 5)
    await asyncio.sleep(2)
    assert {(await site.job(each.id)).state for each in waiting} == {"ready"}, "no runner of the cluster takes one"
    start_laptop(site)
    assert set(await site.done_by(*waiting)) == {"laptop"}, "they waited for it"

    site.laptops[-1].send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(site.laptops[-1].wait, 120) == 0
    await site.run("annotate", "rgrp", "builds", f"{TAINTS}-")
    last = await site.queue.enqueue("count")
    assert await site.done_by(last) != ["laptop"], "the cluster has taken over"


async def test_an_outsider_is_tainted_drained_and_forgotten_a_day_after_it_was_last_seen(operated: Watcher) -> None:
    site = operated
    await site.apply(site.group(0))
    await site.settled(0)
    laptop = start_laptop(site)
    await site.until(lambda: is_there(site, "laptop"), "it has an object")
    await site.run("annotate", "rnr", "laptop", f"{TAINTS}=gpu:NoClaim")

    async def tainted() -> bool:
        return bool((await site.runner("laptop")).get("status", {}).get("taints") == "gpu:NoClaim")

    await site.until(tainted, "it shows its taint")
    made = await site.queue.enqueue("count")
    await asyncio.sleep(1)
    assert (await site.job(made.id)).state == "ready"
    await site.run("annotate", "--overwrite", "rnr", "laptop", f"{TAINTS}=maint:Drain")
    assert await asyncio.to_thread(laptop.wait, 120) == 0

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


async def test_two_laptops_of_one_name_the_newer_wins(operated: Watcher) -> None:
    site = operated
    await site.apply(site.group(0))
    await site.settled(0)
    first = start_laptop(site)
    await site.until(lambda: is_there(site, "laptop"), "it has an object")
    start_laptop(site)
    assert await asyncio.to_thread(first.wait, 120) != 0
    log = (site.scratch / "laptop.log").read_text()
    assert "laptop" in log
    assert "registered" in log
    made = await site.queue.enqueue("count")
    await site.finished(made.id)
