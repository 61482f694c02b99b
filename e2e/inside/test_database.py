"""The pod of the database is deleted in the middle of jobs: everybody waits for it, and goes on."""

import pytest

from e2e.inside.places import KindSite
from paceline import NewJob
from paceline.errors import PacelineError
from paceline.reading import Reader

pytestmark = pytest.mark.timeout(300)


async def test_a_postgres_pod_that_is_deleted_costs_no_job(own_database: KindSite) -> None:
    site = own_database
    await site.apply(site.group(2, slots=1))
    await site.settled(2)
    held = await site.queue.enqueue_many([NewJob(kind="nap", payload=10)] * 2)
    for each in held:
        await site.running(each.id)
    old = await pod(site)
    await site.run("delete", "pod", "postgres-0", "--wait=false")

    async def another() -> bool:
        found = await pod(site)
        return bool(found) and found != old

    await site.until(another, "the next pod serves")
    await site.until(lambda: answers(site), "the database answers again")
    later = await site.queue.enqueue_many([NewJob(kind="count", payload=number) for number in range(10)])
    await site.done_by(*held, *later)
    assert await Reader(site.queue.database).list_dead() == []
    await site.settled(2)

    async def reachable() -> bool:
        return bool((await site.condition("QueueReachable"))["status"] == "True")

    await site.until(reachable, "the operator reaches the queue")


async def pod(site: KindSite) -> str:
    """The uid of the one that is ready; empty if none is."""
    query = '{range .items[?(@.status.containerStatuses[0].ready)]}{.metadata.uid}{" "}{end}'
    found = await site.run("get", "pods", "-l", "app=postgres", "-o", f"jsonpath={query}")
    return found.strip()


async def answers(site: KindSite) -> bool:
    try:
        return bool(await site.queue.database.value("SELECT true"))
    except PacelineError:
        return False
