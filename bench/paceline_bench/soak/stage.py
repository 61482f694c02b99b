"""What is there all the time: two operators, a gateway, a node, and three groups of real runners."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

from paceline.database import Database
from paceline_bench.gateway.door import Door, gateway
from paceline_bench.node import node
from paceline_bench.operator_command import Operator, operator
from paceline_bench.site import GROUPS, Site, group
from paceline_dev.node.node import LocalNode

SURGE, ROLLED, LED = "surge", "rolled", "led"
"""Groups, and their pools: one that follows its queue, one that is updated again and again, one with a leader."""
MOST: Final = 6
ROLLED_RUNNERS, LED_RUNNERS = 3, 2
PATIENCE: Final = 300.0
SPECS: Final[Mapping[str, tuple[int, Mapping[str, object]]]] = {
    SURGE: (0, {"slots": 2, "autoscaling": {
        "minReplicas": 0, "maxReplicas": MOST, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}},
    }}),
    ROLLED: (ROLLED_RUNNERS, {"slots": 2, "updateStrategy": {
        "maxSurge": 1, "maxUnavailable": 0, "canary": {"runners": 1, "observeSeconds": 5},
    }}),
    LED: (LED_RUNNERS, {"slots": 2, "dispatch": "Leader"}),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stage:
    """Where it takes place."""

    site: Site
    node: LocalNode
    database: Database
    operators: tuple[Operator, Operator]
    door: Door


@contextlib.asynccontextmanager
async def stage(site: Site) -> AsyncIterator[Stage]:
    """All of it, with every runner that is wanted without a job."""
    await site.trust(site.url)
    async with contextlib.AsyncExitStack() as stack:
        database = await stack.enter_async_context(await Database.open(site.url, size=8, application="bench"))
        pods = await stack.enter_async_context(node(site))
        first = await stack.enter_async_context(operator(site))
        second = await stack.enter_async_context(operator(site))
        door = await stack.enter_async_context(gateway(site.url, database))
        for name, (replicas, spec) in SPECS.items():
            made = group(name, replicas)
            made["spec"].update(spec)
            await site.api.post(GROUPS, made)
        yield Stage(site, pods, database, (first, second), door)
