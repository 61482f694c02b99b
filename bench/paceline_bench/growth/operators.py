"""One operator with more and more groups at zero, in one database; then the same number in two.

Two servers on one machine share its cores, so their throughput together says nothing. What can be shown here is that
they share nothing else: what the operator asks of a database depends neither on how many groups are in it nor on the
other one.
"""

import contextlib
from collections.abc import Iterable
from typing import Final

from paceline_bench.at_rest import rest
from paceline_bench.counted import Counted, counted
from paceline_bench.growth.sizes import Size
from paceline_bench.measure import Measurement
from paceline_bench.operator_command import Operator, operator
from paceline_bench.scaled import block
from paceline_bench.server import bench_server
from paceline_bench.site import GROUPS, NAMESPACE, Site, group
from paceline_bench.systems.paceline import install
from paceline_dev.node.wire import Json

PATIENCE: Final = 300.0
CALLED: Final = {"rss": "memory", "cpu_idle": "cpu", "queries_idle": "statements"}
"""Names of what is told of an operator at rest, by those that it has elsewhere."""
SHARDS: Final = ("one", "two")
SHARDED: Final = (
    *(f"shard_{what}_{shard}" for shard in SHARDS for what in ("statements", "connections")),
    "shard_cpu",
)


async def alone(site: Site, size: Size) -> list[Measurement]:
    """Each size is the one before and more; all of them in one database."""
    found: list[Measurement] = []
    async with counted(site.url) as way:
        await site.trust(way.url)
        async with operator(site) as running:
            there = 0
            for groups in size.operator:
                for number in range(there, groups):
                    await site.add_group(f"group-{number:03}", 0, scheduled=False, autoscaling=block(10))
                there = groups
                found += renamed(await _at_rest(site, running, way, groups, size), groups)
    return found


async def _at_rest(site: Site, running: Operator, way: Counted, groups: int, size: Size) -> list[Measurement]:
    await site.settled(groups, 0, PATIENCE)
    await site.quiet(size.quiet)
    return await rest(running, way, size.seconds, f"{groups}_operator")


def renamed(found: Iterable[Measurement], groups: int) -> list[Measurement]:
    """What belongs to a curve, under the curve's name."""
    end = f"_{groups}_operator"
    return [
        Measurement(f"{CALLED[kind]}{end}", each.value, each.unit)
        for each in found
        if (kind := each.name.removesuffix(end)) in CALLED
    ]


async def sharded(site: Site, size: Size) -> list[Measurement]:
    """Half of the largest number in each of two servers, and what the operator asks of each."""
    groups = size.operator[-1]
    async with contextlib.AsyncExitStack() as stack:
        second = await stack.enter_async_context(stack.enter_context(bench_server()).database())
        await install(second)
        ways = [await stack.enter_async_context(counted(url)) for url in (site.url, second)]
        for shard, way in zip(SHARDS, ways, strict=True):
            secret = {"metadata": {"name": f"db-{shard}"}, "stringData": {"url": way.url}}
            await site.api.post(f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)
        running = await stack.enter_async_context(operator(site))
        for number in range(groups):
            await site.api.post(GROUPS, in_shard(f"group-{number:03}", SHARDS[number % len(SHARDS)]))
        await site.settled(groups, 0, PATIENCE)
        await site.quiet(size.quiet)
        ways[1].begin()
        found = {each.name: each for each in await rest(running, ways[0], size.seconds, "one")}
        asked = ways[1].statements / size.seconds
        return [
            Measurement("shard_statements_one", found["queries_idle_one"].value, "queries/s"),
            Measurement("shard_connections_one", ways[0].most, "connections"),
            Measurement("shard_statements_two", asked, "queries/s"),
            Measurement("shard_connections_two", ways[1].most, "connections"),
            Measurement("shard_cpu", found["cpu_idle_one"].value, "% of a core"),
        ]


def in_shard(name: str, shard: str) -> Json:
    """A group at zero in one of the databases."""
    made = group(name, 0, scheduled=False, autoscaling=block(10))
    made["spec"]["database"] = {"secretRef": {"name": f"db-{shard}"}}
    return made
