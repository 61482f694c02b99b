"""Groups in two servers under one operator: each server has its own groups' fate, and nobody else's."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from cluster.operator.site import Site
from cluster.operator.test_autoscale import scaled, sized
from paceline import NewJob
from paceline.database import Database
from paceline.migrate import migrate
from paceline.queue import Queue
from paceline.testing import PostgresServer
from paceline_operator.adapters.queue import CONNECTIONS

pytestmark = pytest.mark.timeout(300)
SHARD = {"secretRef": {"name": "shard"}}
OPERATORS = """
SELECT count(*) FROM pg_stat_activity
 WHERE application_name = 'paceline-operator' AND datname = current_database()"""


@contextlib.asynccontextmanager
async def another_server() -> AsyncIterator[tuple[PostgresServer, str]]:
    """With our schema, and nothing in common with the site's."""
    with PostgresServer.start() as server:
        await migrate(server.url)
        yield server, server.url


async def pods_of(site: Site, group: str) -> set[str]:
    return {
        each["metadata"]["name"]
        for each in await site.pods()
        if each["metadata"]["labels"]["paceline.dev/group"] == group
    }


async def done(url: str, pool: str, site: Site) -> None:
    """A job of the pool is worked off."""
    async with await Database.open(url, size=1) as database:
        made = await Queue(database, pool).enqueue("count")
        finished = "SELECT count(*) FROM paceline.history WHERE id = $1"

        async def is_so() -> bool:
            return bool(await database.value(finished, made.id))

        await site.until(is_so, f"a job of {pool} is done")


async def few_connections(url: str, site: Site) -> None:
    """Wait until the operator has no more than its own: one that was closed is seen for a moment longer."""
    async with await Database.open(url, size=1) as database:

        async def is_so() -> bool:
            return 1 <= int(await database.value(OPERATORS)) <= CONNECTIONS + 1

        await site.until(is_so, "the operator has its own connections and no more")


async def test_a_server_that_stops_freezes_its_own_groups_and_the_others_go_on(site: Site) -> None:
    async with another_server() as (server, url):
        await site.secret("shard", url=url)
        operator = site.start_operator()
        await site.apply(scaled(site))
        await site.apply(site.group(1, name="tests", database=SHARD))
        await sized(site, 0)
        await sized(site, 1, "tests")
        await done(url, "tests", site)
        await few_connections(url, site)

        server.halt()
        await site.says("QueueReachable", "Unreachable", "tests")
        before = await pods_of(site, "tests")
        await site.run("scale", "rgrp", "tests", "--replicas=3")
        made = await site.queue.enqueue_many([NewJob(kind="wait", payload="go")] * 3)
        await sized(site, 3)
        await site.allow("go")
        await site.done_by(*made)
        await sized(site, 0)  # a whole life, while the other server is away
        assert (await site.condition("QueueReachable"))["reason"] == "Reachable"
        assert (await site.condition("QueueReachable", "tests"))["reason"] == "Unreachable"
        assert len(before) == 1
        assert await pods_of(site, "tests") == before, "nothing is made or deleted there"
        await few_connections(site.url, site)

        server.resume()
        await site.says("QueueReachable", "Reachable", "tests")
        await sized(site, 3, "tests")
        await done(url, "tests", site)
        assert operator.poll() is None
