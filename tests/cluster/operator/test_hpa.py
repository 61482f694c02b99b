"""The real HPA controller scales our groups by their queues; and where it decides, we would decide the same."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from apiserver.test_install import may, will
from cluster.local import local_node
from cluster.operator.curve import MOST, Teller, obey, replay
from cluster.operator.scaled import HPAS, hpa, hpa_says, serve_metrics_from
from cluster.operator.site import Site, ended, shop
from paceline import NewJob
from paceline.queue import Queue
from paceline.testing.scratch import free_ports
from paceline_dev import REPOSITORY
from paceline_dev.binaries import find_binaries
from paceline_dev.control_plane import NODE_KUBECONFIG, ControlPlane
from paceline_dev.node.api import Api
from paceline_dev.progress import stderr_reporter
from paceline_operator.adapters.access import find_access
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.adapters.front_door import FrontDoor
from paceline_operator.adapters.queue import Key
from paceline_operator.api.autoscaling import Autoscaling
from paceline_operator.domain.scaling.decide import ScaleReason
from paceline_operator.domain.scaling.told import DemandTold
from paceline_operator.handlers.demands import Demands
from paceline_operator.handlers.metrics_api import MetricsApi
from support.plane import own_namespace
from support.proxy import proxy

pytestmark = pytest.mark.timeout(300)
EVERY = 1.3
"""Seconds between two looks of the HPA. No multiple of it is near 15, its default period, or near WINDOW."""
WINDOW = 11


@pytest.fixture(scope="module")
def own_plane() -> Iterator[ControlPlane]:
    with ControlPlane.start(find_binaries(stderr_reporter()), scale_every=EVERY) as plane:
        plane.kubectl.teach()
        plane.kubectl.run("wait", "serviceaccount/default", "--for=create", "--timeout=30s")
        yield plane


@pytest.fixture
async def alone(own_plane: ControlPlane, queue: Queue, migrated: str, tmp_path: Path) -> AsyncIterator[Site]:
    """A namespace in a cluster of our own, without an operator."""
    plane, nodes = own_plane, local_node(own_plane.folder / NODE_KUBECONFIG)
    with own_namespace(plane.kubectl) as namespace:
        async with await Api.connect(plane.kubeconfig) as api, nodes() as node:
            node.add_image("shop", shop(tmp_path))
            site = Site(api, plane.kubectl, plane.kubeconfig, namespace, node, queue, migrated, tmp_path)
            site.port, site.second_port = free_ports(2)
            await site.secret()
            try:
                yield site
            finally:
                await site.run("delete", "hpa", "--all")
                ended(site.processes)


async def test_what_the_hpa_decides_with_its_defaults_internal_mode_decides_too(alone: Site) -> None:
    """Same demands at the same moments, told to the HPA by the API that we serve, and to our own rules.

    Two things are spelled out: the window, which is five minutes by default, and the HPA's tolerance, where ours is 0.
    """
    site, teller = alone, Teller(alone)
    await site.apply(site.group(1, slots=1, autoscaling={"mode": "External", "maxReplicas": MOST}))
    (port,) = free_ports(1)
    async with contextlib.AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(KubernetesCluster(find_access(str(site.kubeconfig), None)))
        following = asyncio.create_task(obey(cluster, site))
        stack.callback(following.cancel)
        # as a standby does: whoever acts is asked, and that is the teller
        demands = Demands(no_demand, lambda: False, lambda: "the teller")
        api = MetricsApi(demands, teller.ask, FrontDoor(cluster, None))
        await stack.enter_async_context(api.served("127.0.0.1", port))
        await serve_metrics_from(site, port)
        await site.apply(hpa(site.namespace, "builds", MOST, scaleDown={"stabilizationWindowSeconds": WINDOW}))
        async with asyncio.timeout(120):
            await teller.over.wait()
    behavior = (await site.api.get(HPAS.format(site.namespace, "builds")))["spec"]["behavior"]
    assert {each["type"] for each in behavior["scaleUp"]["policies"]} == {"Pods", "Percent"}, (
        "the defaults are spelled out"
    )
    spelled = {way: {"tolerance": "0.1", **rules} for way, rules in behavior.items()}
    spec = Autoscaling.model_validate({"minReplicas": 1, "maxReplicas": MOST, "behavior": spelled})
    found = list(replay(spec, teller.samples))
    for sample, theirs, ours, reason in found:
        conflict = not sample.settled and theirs == sample.size  # its write met the write of the status
        assert theirs in ours or conflict, (sample, theirs, ours, reason, found)
    clear = [each for each in found if len(each[2]) == 1 and each[0].settled]
    assert len(clear) > 0.7 * len(found), "the blur explains a few of them only"
    assert {reason for *_, reason in clear} >= {
        ScaleReason.UP_LIMIT, ScaleReason.WITHIN_TOLERANCE, ScaleReason.DOWN_STABILIZED, ScaleReason.WITHIN_RANGE,
        ScaleReason.TOO_MANY,
    }  # fmt: skip
    sizes = [size for size, _ in itertools.groupby(each.size for each in teller.samples)]
    assert sizes[:3] == [1, 5, 9]
    assert sizes[-3:] == [3, 6, MOST]


def no_demand(_key: Key, _now: datetime) -> DemandTold:
    raise AssertionError("a standby asks the one that acts")


async def test_an_hpa_scales_a_group_through_a_standby_and_leaves_it_alone_when_nobody_knows(alone: Site) -> None:
    site, demand = alone, f"/demand/{alone.namespace}/builds"
    async with proxy(site.url) as way:
        await site.secret(url=way.url)
        await site.secret("runners", url=site.url)
        group = site.group(1, slots=1, autoscaling={"mode": "External", "maxReplicas": 3})
        group["spec"]["database"]["runnerSecretRef"] = {"name": "runners"}
        await site.apply(group)
        ports = free_ports(2)
        site.start_operator(PACELINE_EXTERNAL_METRICS=f"127.0.0.1:{ports[0]}")
        site.start_operator(site.second_port, PACELINE_EXTERNAL_METRICS=f"127.0.0.1:{ports[1]}")
        await site.settled(1)
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{site.namespace}/leases"
        lease = await site.api.get(f"{leases}/{site.install}-operator")
        acting = lease["metadata"]["annotations"]["paceline.dev/address"]
        standby = 1 if acting == f"127.0.0.1:{site.port}" else 0
        await serve_metrics_from(site, ports[standby])
        await site.apply(hpa(site.namespace, "builds", 3, scaleDown={"stabilizationWindowSeconds": 0}))
        await site.queue.enqueue_many([NewJob(kind="wait", payload="go")] * 3)
        await site.settled(3)
        status, body = await site.get(demand, (site.port, site.second_port)[standby])
        told = json.loads(body)
        assert (status, told["demand"], told["ready"] + told["running"]) == (200, 3, 3)
        assert (await site.condition("ScalingActive"))["reason"] == "External"
        way.refuse()
        way.cut()

        async def blind() -> bool:
            status, message = await hpa_says(site, "ScalingActive")
            return status == "False" and "QueueReachable says why" in message

        await site.until(blind, "the HPA is told that nobody knows")
        assert (await site.get(demand))[0] == 503
        site.touch("go")
        await asyncio.sleep(3 * EVERY)
        assert json.loads(await site.run("get", "rgrp", "builds", "-o", "json"))["spec"]["replicas"] == 3
        way.refuse(False)
        await site.settled(1)


async def test_an_hpa_that_scales_an_internal_group_is_told_that_it_does_not_count(alone: Site) -> None:
    site, (port,) = alone, free_ports(1)
    site.start_operator(PACELINE_EXTERNAL_METRICS=f"127.0.0.1:{port}")
    scaling = {"minReplicas": 1, "maxReplicas": 2, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}
    await site.apply(site.group(1, slots=1, autoscaling=scaling))
    await site.settled(1)
    await serve_metrics_from(site, port)
    await site.apply(hpa(site.namespace, "builds", 4))
    await site.queue.enqueue_many([NewJob(kind="wait", payload="go")] * 4)

    async def warned() -> bool:
        return any(reason == "ReplicasIgnored" and "set to 4" in text for reason, text in await site.events())

    await site.until(warned, "an event says so")
    await site.settled(2)
    site.touch("go")


def test_the_overlay_is_accepted_and_may_read_whom_to_trust_and_nothing_else_there(own_plane: ControlPlane) -> None:
    kubectl, system = own_plane.kubectl, "paceline-system"
    kubectl.run("apply", "-k", str(REPOSITORY / "manifests" / "external-metrics"))
    try:
        named = kubectl.json("get", "apiservice", "v1beta1.external.metrics.k8s.io")["spec"]["service"]
        service = kubectl.json("get", "service", named["name"], "-n", named["namespace"])["spec"]
        deployment = kubectl.json("get", "deployment", "paceline-operator", "-n", system)
        pod = deployment["spec"]["template"]
        assert service["selector"].items() <= pod["metadata"]["labels"].items()
        (container,) = pod["spec"]["containers"]
        (port,) = [each for each in container["ports"] if each["name"] == service["ports"][0]["targetPort"]]
        listen = {each["name"]: each.get("value", "") for each in container["env"]}["PACELINE_EXTERNAL_METRICS"]
        assert (named["port"], listen) == (service["ports"][0]["port"], f"0.0.0.0:{port['containerPort']}")
        who, there = f"system:serviceaccount:{system}:paceline-operator", ("-n", "kube-system")
        assert will(kubectl, who, "get", "configmaps/extension-apiserver-authentication", *there)
        assert not may(kubectl, who, "get", "configmaps/kubeadm-config", *there)
        assert not may(kubectl, who, "patch", "configmaps/extension-apiserver-authentication", *there)
    finally:
        kubectl.run("delete", "apiservice", "v1beta1.external.metrics.k8s.io")
