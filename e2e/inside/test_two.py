"""The two operators of the Deployment: whatever happens to the one that acts, the other does."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

import pytest

from cluster.operator.watcher import LEASE
from e2e.inside.places import KindSite
from paceline_dev.kind.install import SYSTEM
from paceline_dev.kind.kill import kill_container

pytestmark = pytest.mark.timeout(300)
SECONDS = 60
log = logging.getLogger(__name__)


async def one_runner(site: KindSite) -> str:
    """A group of one, and two operators: which of them acts."""
    await site.operators(2)
    await site.apply(site.group(1))
    await site.settled(1)
    return await site.holder()


def pod_of(holder: str) -> str:
    """Each start of an operator has a name of its own, which begins with its pod's."""
    return holder.rpartition("-")[0]


async def replaced(site: KindSite) -> float:
    """Delete the runner's pod: how long until some operator has made another."""
    old = await site.pod_names()
    began = time.monotonic()
    await site.run("delete", "pod", *old, "--wait=false")

    async def made() -> bool:
        return not await site.pod_names() <= old

    await site.until(made, "somebody makes another pod")
    return time.monotonic() - began


async def kill(site: KindSite, pod: str) -> None:
    (found,) = [each for each in await site.operator_pods() if each["metadata"]["name"] == pod]
    await asyncio.to_thread(kill_container, found, "operator")


async def delete(site: KindSite, pod: str) -> None:
    await site.sh("-n", SYSTEM, "delete", "pod", pod, "--wait=false")


async def delete_by_force(site: KindSite, pod: str) -> None:
    await site.sh("-n", SYSTEM, "delete", "pod", pod, "--grace-period=0", "--force")


@pytest.mark.parametrize("end", [kill, delete, delete_by_force])
async def test_when_the_one_that_acts_ends_the_other_acts(
    site: KindSite, end: Callable[[KindSite, str], Awaitable[None]]
) -> None:
    first = pod_of(await one_runner(site))

    async def another() -> bool:
        return pod_of(await site.holder()) not in ("", first)

    await end(site, first)
    seconds = await replaced(site)
    log.info("somebody acts after %.1f s", seconds)
    assert seconds < SECONDS
    await site.until(another, "the other one acts")
    await site.settled(1)
    await replaced(site)
    assert await another()
    await site.settled(1)
    await site.operators(2)


async def test_a_lease_that_was_deleted_is_made_anew(site: KindSite) -> None:
    first = await one_runner(site)
    path = LEASE.format(SYSTEM, site.install)
    old = (await site.api.get(path))["metadata"]["uid"]
    await site.sh("-n", SYSTEM, "delete", "lease", "paceline-operator")

    async def there() -> bool:
        listed = (await site.api.get(path.rpartition("/")[0]))["items"]
        return any(each["metadata"]["uid"] != old for each in listed)

    await site.until(there, "there is another Lease")
    assert await site.holder() == first, "who acts takes it again"
    await replaced(site)
    await site.settled(1)
