"""A load that a HorizontalPodAutoscaler follows while everything is written down, to be decided again by our rules."""

import asyncio
import itertools
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cluster.operator.site import Site
from cluster.operator.watcher import GROUPS
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.adapters.queue import Key
from paceline_operator.api.autoscaling import Autoscaling
from paceline_operator.domain.scaling.decide import ScaleReason, decide, record_change
from paceline_operator.domain.scaling.history import History
from paceline_operator.domain.scaling.signals import Signals
from paceline_operator.domain.scaling.told import DemandTold
from paceline_operator.ports.resources import RUNNER_GROUP

MOST = 20
BLUR = timedelta(seconds=0.5)
"""The HPA reads its clock some time after it has read the metric: so far its moment may be from ours."""


@dataclass(frozen=True)
class Sample:
    """One look of the HPA: what it was told, when, and which size it found."""

    at: datetime
    demand: int
    size: int
    settled: bool
    """Whether the group's status had the size already; else its write may have met a conflict."""


def curve() -> Generator[int, int, None]:
    """Demands, each for the size that was found: up by pods, up by percent, a little more, down, far up."""
    size = yield 0
    for _ in range(2):
        size = yield 1
    while size < 9:
        size = yield 9
    while size < 18:
        size = yield 40
    for _ in range(3):
        size = yield size + 1
    while size > 3:
        size = yield 3
    while size < 6:
        size = yield 6
    while size < MOST:
        size = yield 50
    for _ in range(2):
        size = yield 50


@dataclass
class Teller:
    """Tells the HPA the demands of the curve, and writes down what it has told."""

    site: Site
    samples: list[Sample] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    _curve: Generator[int, int, None] = field(default_factory=curve)

    def __post_init__(self) -> None:
        next(self._curve)

    async def ask(self, _address: str, key: Key) -> DemandTold:
        group = await self.site.api.get(f"{GROUPS.format(key[0])}/{key[1]}")
        size, now = group["spec"]["replicas"], datetime.now(UTC)
        try:
            demand = self._curve.send(size)
        except StopIteration:
            self.over.set()
            demand = MOST
        self.samples.append(Sample(now, demand, size, group["status"]["replicas"] == size))
        return DemandTold(namespace=key[0], group=key[1], demand=demand, ready=demand, running=0, at=now)


async def obey(cluster: KubernetesCluster, site: Site) -> None:
    """Be the operator, as far as the HPA can see: the status follows the size at once."""
    path, last = GROUPS.format(site.namespace), None
    version = (await site.api.get(path))["metadata"]["resourceVersion"]
    found = await site.api.get(f"{path}/builds")
    while True:
        if found["spec"]["replicas"] != last:
            last = found["spec"]["replicas"]
            status = {"replicas": last, "selector": "paceline.dev/group=builds"}
            await cluster.patch_status(RUNNER_GROUP, site.namespace, "builds", status, uid=found["metadata"]["uid"])
        async for kind, found in site.api.watch(path, version):
            version = found["metadata"]["resourceVersion"]
            if kind == "MODIFIED" and found["spec"]["replicas"] != last:
                break


def replay(spec: Autoscaling, samples: list[Sample]) -> Iterator[tuple[Sample, int, set[int], ScaleReason]]:
    """Each sample, what the HPA made of it, what we make of it within the blur, and our reason.

    Each decision starts from the size and the changes that there really were. So if all are equal, the two series are.
    """
    past = History()
    for sample, later in itertools.pairwise(samples):
        signals = Signals(ready=sample.demand, running=0)
        made = [
            decide(spec, 1, sample.size, signals, past, sample.at + blur)
            for blur in (timedelta(), -BLUR, BLUR)
        ]  # fmt: skip
        yield sample, later.size, {each.replicas for each in made}, made[0].reason
        past = record_change(made[0].history, sample.size, later.size, sample.at)
