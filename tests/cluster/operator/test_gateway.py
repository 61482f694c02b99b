"""A runner that reaches nothing but a gateway, here and beside a kubelet: a member of its group like all others."""

import asyncio
import signal

import httpx
import pytest

from cluster.operator.gateways import Gateways, start_dialler
from cluster.operator.test_laptop import is_there
from cluster.operator.test_leaders import leads, led
from cluster.operator.watcher import Watcher
from paceline import NewJob
from paceline.tokens import Tokens

pytestmark = pytest.mark.timeout(300)
TAINTS = "paceline.dev/taints"


async def test_a_laptop_behind_a_firewall_works_for_a_tainted_cluster(operated: Watcher, gateway: Gateways) -> None:
    site, tokens = operated, Tokens(operated.queue.database)
    await led(site)
    await site.run("annotate", "rgrp", "builds", f"{TAINTS}=dev:NoClaim,dev:NoLead")
    await site.says("LeaderElected", "NobodyEligible")
    token = await tokens.create(
        "rk", install=site.install, namespace=site.namespace, group="builds", runner="laptop"
    )  # fmt: skip
    laptop = start_dialler(site, gateway.url, token)
    await site.until(lambda: is_there(site, "laptop"), "it has an object")
    assert (await site.runner("laptop"))["spec"]["external"] is True
    await leads(site, "laptop")
    made = await site.queue.enqueue_many([NewJob(kind="count")] * 20)
    assert set(await site.done_by(*made)) == {"laptop"}

    caller = {"authorization": f"Bearer {await tokens.create('pk', pool='builds')}"}
    async with httpx.AsyncClient(base_url=gateway.url, headers=caller, timeout=40) as client:
        said = await client.post("/v1/call", json={"kind": "nap", "payload": 0.1})
        assert said.status_code == httpx.codes.OK, said.text
        assert said.json()["result"]

    long = await site.queue.enqueue(NewJob(kind="nap", payload=8))
    await site.running(long.id)
    await gateway.restart()
    assert await site.done_by(long) == ["laptop"], "it was not in the way of an update of the gateway"
    assert (await site.attempts(long.id), (await site.job(long.id)).losses) == ([], 0)

    laptop.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(laptop.wait, 120) == 0
    await leads(site, None)
    waiting = await site.queue.enqueue("count")
    await site.run("annotate", "rgrp", "builds", f"{TAINTS}-")
    assert await site.done_by(waiting) != ["laptop"], "the cluster has taken over"
