"""Two operators that never both act."""

import asyncio
import os
import signal
import time

import pytest

from cluster.operator.site import Site

pytestmark = pytest.mark.timeout(300)


async def both(site: Site) -> None:
    """The first leads, the second stands by."""
    site.start_operator()
    await site.apply(site.group(1))
    await site.settled(1)
    site.start_operator(port=site.second_port)

    async def ready() -> bool:
        return "watching" in site.log_of(1) and (await site.get("/readyz", site.second_port))[0] == 200

    await site.until(ready, "the second one stands by")
    assert "paceline_operator_leads 0.0" in (await site.get("/metrics", site.second_port))[1]


async def acts(site: Site, before: str, replicas: int) -> float:
    """How long until the other one acts; what it does is wanted from now on."""
    began = time.monotonic()
    await site.run("scale", "rgrp", "builds", f"--replicas={replicas}")

    async def done() -> bool:
        return len(await site.runners()) == replicas

    await site.until(done, "somebody acts")
    assert await site.holder() != before
    return time.monotonic() - began


async def test_when_the_one_is_killed_the_other_acts(site: Site) -> None:
    await both(site)
    first = await site.holder()
    await site.stop_operator(signal.SIGKILL, 0)
    assert await acts(site, first, 2) < 30, "eleven seconds, and what this machine needs"
    await site.settled(2)


async def test_when_the_one_is_told_to_end_the_other_acts_at_once(site: Site) -> None:
    await both(site)
    first, standby = await site.holder(), site.processes[1]
    os.kill(standby.pid, signal.SIGSTOP)
    assert await site.stop_operator(which=0) == 0
    assert await site.holder() == "", "nobody has to wait for its end"
    os.kill(standby.pid, signal.SIGCONT)
    await acts(site, first, 2)


async def test_one_that_was_stopped_wakes_up_and_does_nothing(site: Site) -> None:
    await both(site)
    first, process = await site.holder(), site.processes[0]
    os.kill(process.pid, signal.SIGSTOP)
    await acts(site, first, 2)
    await site.settled(2)
    second = await site.holder()
    os.kill(process.pid, signal.SIGCONT)

    async def knows() -> bool:
        return "leads no more" in site.log_of(0)

    await site.until(knows, "it knows that it leads no more")

    async def is_silent() -> bool:
        return "builds" not in (await site.get("/metrics"))[1]

    await site.until(is_silent, "it tells nothing of groups that another one looks after")
    await site.run("scale", "rgrp", "builds", "--replicas=3")
    await site.settled(3)
    await asyncio.sleep(1)
    assert await site.holder() == second
    assert process.poll() is None, "it stands by again"
    assert await site.queue.database.value("SELECT epoch FROM paceline.office") == 2
