"""What happens to the API itself: its server restarts, our kinds change or go. On a control plane of its own."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import psutil
import pytest

from cluster.local import local_node
from cluster.operator.site import Everywhere, Site, ended, shop
from paceline.queue import Queue
from paceline.testing.guard import Guarded
from paceline.testing.scratch import free_ports
from paceline_dev.binaries import find_binaries
from paceline_dev.control_plane import NODE_KUBECONFIG, ControlPlane
from paceline_dev.kind.install import SYSTEM
from paceline_dev.node.api import Api
from paceline_dev.progress import stderr_reporter

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def own_plane() -> Iterator[ControlPlane]:
    with ControlPlane.start(find_binaries(stderr_reporter())) as plane:
        plane.kubectl.teach()
        plane.kubectl.run("wait", "serviceaccount/default", "--for=create", "--timeout=30s")
        yield plane


@pytest.fixture
def alone(located: Site) -> Site:
    """The default namespace of a cluster of our own, with an operator."""
    located.start_operator()
    return located


@pytest.fixture
async def located(
    request: pytest.FixtureRequest, own_plane: ControlPlane, queue: Queue, migrated: str, tmp_path: Path
) -> AsyncIterator[Site]:
    """That namespace, for an operator of its own; a test may want it for one of the whole cluster."""
    kind: type[Site] = getattr(request, "param", Site)
    async with await Api.connect(own_plane.kubeconfig) as api, local_node(own_plane.folder / NODE_KUBECONFIG)() as node:
        node.add_image("shop", shop(tmp_path))
        site = kind(api, own_plane.kubectl, own_plane.kubeconfig, "default", node, queue, migrated, tmp_path)
        site.port = free_ports(1)[0]
        await site.secret()
        try:
            yield site
        finally:
            ended(site.processes)


async def test_a_group_of_a_newer_version_is_told_and_others_go_on(alone: Site) -> None:
    site = alone
    await site.apply(site.group(1))
    await site.settled(1)
    crd = "crd/runnergroups.paceline.dev"
    known = json.loads(await site.run("get", crd, "-o", "json"))
    spec = known["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["dispatch"]["enum"].append("Swarm")
    known["metadata"] = {"name": known["metadata"]["name"]}
    del known["status"]
    await site.apply(known)

    async def accepted() -> bool:
        answer = await asyncio.to_thread(site.kubectl.run, "apply", "-f", "-", check=False,
                                         stdin=json.dumps(site.group(1, name="newer", dispatch="Swarm")))  # fmt: skip
        return answer.returncode == 0

    await site.until(accepted, "the API server knows the new word")
    told = await site.says("Ready", "InvalidSpec", "newer")
    assert told["message"].startswith("spec.dispatch: ")
    await site.run("scale", "rgrp", "builds", "--replicas=2")

    async def two() -> bool:
        return (await site.status()).get("readyReplicas") == 2

    await site.until(two, "the other group follows")
    await site.run("delete", "rgrp", "newer", "builds", "--timeout=180s")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("located", [Site, Everywhere], indirect=True)
async def test_kinds_that_are_made_anew_are_watched_again_and_meanwhile_nobody_says_ready(
    located: Site, own_plane: ControlPlane
) -> None:
    site, kinds = located, ("runnergroups.paceline.dev", "runners.paceline.dev")
    own_plane.kubectl.run("create", "namespace", SYSTEM, check=False)
    await site.run("delete", "crd", *kinds)
    site.start_operator()
    for when in ("before it started", "when it had noticed", "at once"):
        if when != "at once":
            await site.until(lambda: _readiness(site, 503, "does not serve runnergroups"), "it says what is missing")
        await asyncio.to_thread(own_plane.kubectl.teach)
        await site.until(lambda: _applied(site), "the API server takes a group")
        await site.until(lambda: _answered(site), f"a group is looked after whose kinds were made {when}")
        await site.until(lambda: _readiness(site, 200, "ok"), "it says ready")
        await site.run("delete", "rgrp", "builds", "--timeout=180s")
        await site.run("delete", "crd", *kinds)
    assert site.processes[-1].poll() is None, "it was the same one all the time"
    assert "nothing is watched: the API server does not serve" in site.log()
    await asyncio.to_thread(own_plane.kubectl.teach)


async def _readiness(site: Site, status: int, text: str) -> bool:
    try:
        code, said = await site.get("/readyz")
    except aiohttp.ClientError:
        return False  # it does not listen yet
    return code == status and text in said


async def _applied(site: Site) -> bool:
    """The API server may say that a kind is there before it takes objects of it."""
    made = json.dumps(site.group(0))
    done = await asyncio.to_thread(site.kubectl.run, "apply", "-f", "-", stdin=made, check=False)
    return done.returncode == 0


async def _answered(site: Site) -> bool:
    return (await site.condition("Ready")).get("reason") == "AsWanted"


async def test_a_restart_of_the_api_server_costs_nothing(alone: Site, own_plane: ControlPlane, tmp_path: Path) -> None:
    site = alone
    await site.apply(site.group(1))
    await site.settled(1)
    before = await site.pod_names()
    server = psutil.Process(own_plane.pids["kube-apiserver"])
    command, environ = server.cmdline(), server.environ()
    server.kill()
    server.wait(60)
    await site.queue.enqueue("count", 1)
    await site.until(lambda: site.marked("runs"), "the runner works on")
    with Guarded(command, log=tmp_path / "again.log", env=environ, grace=1.0):
        await site.until(lambda: _answers(site), "the API server is back")
        await site.until(lambda: _scaled(site, 2), "it takes a new size")
        await site.settled(2)
        assert before <= await site.pod_names()
        assert site.processes[-1].poll() is None
        await site.run("delete", "crd", "runnergroups.paceline.dev", "--wait=false")
        await site.until(lambda: _no_runners(site), "with the kind its groups drain and go")
        assert site.processes[-1].poll() is None, "the operator outlives its own kind"


async def _scaled(site: Site, size: int) -> bool:
    """The API server may answer before it serves our kinds again."""
    return "scaled" in await site.run("scale", "rgrp", "builds", f"--replicas={size}")


async def _answers(site: Site) -> bool:
    return "ok" in await site.run("get", "--raw", "/readyz")


async def _no_runners(site: Site) -> bool:
    return await site.pods() == []
