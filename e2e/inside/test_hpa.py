"""A HorizontalPodAutoscaler of the cluster's own sizes a group by its queue."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cluster.operator.scaled import hpa
from e2e.inside.places import KindSite
from paceline import NewJob
from paceline_dev import REPOSITORY
from paceline_dev.kind.install import install
from paceline_dev.node.api import AnswerError

pytestmark = pytest.mark.timeout(420)


@pytest.fixture
async def measured(site: KindSite) -> AsyncIterator[KindSite]:
    """With operators that serve the metric; they are replaced by plain ones again."""
    await asyncio.to_thread(install, site.kubectl, "external-metrics")
    yield site
    extra = str(REPOSITORY / "manifests" / "external-metrics")
    await site.sh("delete", "-k", extra, "-l", "app.kubernetes.io/name=paceline", "--timeout=120s")
    await asyncio.to_thread(install, site.kubectl)


async def test_an_hpa_sizes_an_external_group_by_its_queue(measured: KindSite) -> None:
    site = measured

    async def served() -> bool:
        try:
            return bool(await site.api.get("/apis/external.metrics.k8s.io/v1beta1"))
        except AnswerError:
            return False

    await site.until(served, "the API server serves the metric")
    await site.apply(site.group(1, slots=1, autoscaling={"mode": "External", "maxReplicas": 3}))
    await site.settled(1)
    await site.apply(hpa(site.namespace, "builds", 3, scaleDown={"stabilizationWindowSeconds": 0}))
    made = await site.queue.enqueue_many([NewJob(kind="wait", payload="go")] * 3)
    await site.settled(3)
    await site.says("ScalingActive", "External")
    await site.allow("go")
    await site.done_by(*made)
    await site.settled(1)
    assert not await site.queue.database.value("SELECT count(*) FROM paceline.attempt"), "nobody was interrupted"
    await site.run("delete", "hpa", "builds")
