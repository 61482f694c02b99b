"""From none to 400 runners: how long the operator takes, and how long the same pods take without one."""

import asyncio
import time
from typing import Final

from paceline_bench import histogram
from paceline_bench.measure import Measurement
from paceline_bench.operator_command import operator
from paceline_bench.site import GROUPS, INSTALL, PODS, Site, group, until
from paceline_dev.node.wire import Json

RUNNERS: Final = 400
AT_ONCE: Final = 25
"""As many writes as the operator has under way at most."""


async def create(site: Site) -> list[Measurement]:
    """Seconds until 400 pods are there, first without and then with an operator; no node is attached."""
    await site.trust(site.url)
    bare = await _bare(site)
    async with operator(site) as running:
        await site.add_group("builds", 0)
        await site.settled(1, 0)
        before = await running.turns()
        began = time.monotonic()
        await site.scale("builds", RUNNERS)
        await until(lambda: _there(site, RUNNERS), f"{RUNNERS} pods")
        took = time.monotonic() - began
        await until(lambda: _told(site), "the status says so")  # with that the turn that made them is over
        turns = histogram.since(before, await running.turns())
    return [
        Measurement("pods_bare_400", bare, "s"),
        Measurement("pods_0_to_400", took, "s"),
        *quantiles(turns, str(RUNNERS)),
    ]


def quantiles(turns: histogram.Buckets, what: str) -> list[Measurement]:
    """What the operator's own histogram says of its turns, in milliseconds."""
    found = {percent: histogram.quantile(turns, percent / 100) for percent in (50, 99)}
    return [
        Measurement(f"reconcile_p{percent}_{what}", value * 1000, "ms")
        for percent, value in found.items()
        if value is not None
    ]


async def _there(site: Site, count: int) -> bool:
    return await site.count_pods() == count


async def _told(site: Site) -> bool:
    status = (await site.api.get(f"{GROUPS}/builds")).get("status") or {}
    return bool(status.get("replicas") == RUNNERS)


async def _bare(site: Site) -> float:
    """The same pods through the operator's own way to the API server. Nobody owns them, or they would be collected."""
    from paceline_operator.adapters.access import Kubeconfig
    from paceline_operator.adapters.cluster import KubernetesCluster
    from paceline_operator.adapters.wire import PARALLEL_WRITES
    from paceline_operator.api.v1alpha1 import RunnerGroup
    from paceline_operator.domain.objects import build_pod

    assert PARALLEL_WRITES == AT_ONCE
    model = RunnerGroup.model_validate(group("bare", RUNNERS))
    pods: list[Json] = [build_pod(model, f"bare-{number}", "", 1, INSTALL) for number in range(RUNNERS)]
    for pod in pods:
        del pod["metadata"]["ownerReferences"]
    async with KubernetesCluster(Kubeconfig(str(site.kubeconfig))) as cluster:
        began = time.monotonic()
        await asyncio.gather(*(cluster.create(pod) for pod in pods))
        await until(lambda: _there(site, RUNNERS), f"{RUNNERS} pods")
        took = time.monotonic() - began
    await site.api.delete(PODS, {"gracePeriodSeconds": 0})
    await until(lambda: _there(site, 0), "the pods are gone")
    return took
