"""A node's own life: it comes back, it leaves, it loses sight of the API server, and it takes many pods."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cluster.local import LocalPlace, StartNode
from cluster.node.marks import ended
from cluster.place import condition, container, eventually, over, ready, state
from paceline_dev.audit import AuditLog, Write
from paceline_dev.control_plane import NODE_KUBECONFIG
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import Api
from support.proxy import Proxy, proxy

pytestmark = pytest.mark.timeout(300)


@asynccontextmanager
async def behind_proxy(control_plane: Path, folder: Path) -> AsyncIterator[tuple[Proxy, Path]]:
    """A kubeconfig whose connections a test can cut."""
    config = json.loads((control_plane / NODE_KUBECONFIG).read_text())
    cluster = config["clusters"][0]["cluster"]
    async with proxy(cluster["server"]) as between:
        cluster["server"] = between.url.replace("@", "")
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(json.dumps(config))
        yield between, kubeconfig


async def test_a_restarted_node_finds_its_pods_lost_and_goes_by_their_policy(
    api: Api, kubectl: Kubectl, namespace: str, start_node: StartNode
) -> None:
    async with start_node(leave_objects=True) as first:
        place = LocalPlace(api, kubectl, namespace, first.name, first)
        for name, restart in (("once", "Never"), ("again", "Always")):
            await place.create(place.pod(place.shell("exec sleep 600"), name=name, restart=restart))
            await place.until(ready, "it is ready", name=name)
        await place.create(place.pod(place.shell("exit 0"), name="done"))
        await place.until(over, "it is over", name="done")
        pids = [pid for name in ("once", "again") for pid in first.pids(namespace, name)]
        uid = (await api.get(f"/api/v1/nodes/{first.name}"))["metadata"]["uid"]
    await ended(*pids)
    assert (await place.status("once"))["phase"] == "Running", "nobody is left to say otherwise"
    async with start_node(first.name):
        assert (await api.get(f"/api/v1/nodes/{first.name}"))["metadata"]["uid"] == uid
        lost = await place.until(over, "it is found lost", name="once")
        assert state(lost, "terminated")["message"].startswith("The container could not be located")
        assert (lost["phase"], state(lost, "terminated")["exitCode"]) == ("Failed", 137)
        back = await place.until(lambda s: ready(s) and container(s)["restartCount"] == 1, "it is back", name="again")
        assert container(back)["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
        assert back["podIPs"] == [{"ip": back["podIP"]}]
        assert (await place.status("done"))["phase"] == "Succeeded"


async def test_a_node_that_leaves_takes_its_objects_along(
    api: Api, kubectl: Kubectl, namespace: str, start_node: StartNode
) -> None:
    async with start_node() as node:
        place = LocalPlace(api, kubectl, namespace, node.name, node)
        await place.create(place.pod(place.shell("exec sleep 600")))
        await place.until(ready, "it is ready")
        pids = node.pids(namespace, "story")
    await ended(*pids)
    assert await api.find(f"/api/v1/nodes/{node.name}") is None
    assert await api.find(place.path("story")) is None


async def test_a_node_deleted_by_hand_is_registered_again(local: LocalPlace) -> None:
    path = f"/api/v1/nodes/{local.node_name}"
    uid = (await local.api.get(path))["metadata"]["uid"]
    await local.api.delete(path)

    async def back() -> bool:
        found = await local.api.find(path)
        return found is not None and found["metadata"]["uid"] != uid and bool(found["status"].get("capacity"))

    await eventually(back, "it is registered again")


async def test_pods_deleted_while_the_api_server_was_away_are_killed(
    api: Api, kubectl: Kubectl, namespace: str, start_node: StartNode, control_plane: Path, tmp_path: Path
) -> None:
    async with behind_proxy(control_plane, tmp_path) as (line, kubeconfig), start_node(kubeconfig=kubeconfig) as node:
        place = LocalPlace(api, kubectl, namespace, node.name, node)
        for name in ("stays", "goes"):
            await place.create(place.pod(place.shell("sleep 1; exec sleep 600"), name=name, restart="Always"))
            await place.until(ready, "it is ready", name=name)
        stays, goes = (node.pids(namespace, name) for name in ("stays", "goes"))
        line.refuse()
        line.cut()
        await place.delete("goes", grace=0)
        await place.create(place.pod(place.shell("exit 0"), name="comes"))
        node.oom_kill(namespace, "stays")
        await ended(*stays)
        line.refuse(False)
        await ended(*goes)
        await place.until(over, "a pod bound meanwhile has run", name="comes")
        status = await place.until(lambda s: container(s)["restartCount"] == 1, "what happened is told", name="stays")
        assert container(status)["lastState"]["terminated"]["reason"] == "OOMKilled"


async def test_a_watch_that_was_too_old_begins_anew(
    api: Api, kubectl: Kubectl, namespace: str, start_node: StartNode, control_plane: Path, tmp_path: Path
) -> None:
    """Cut connections come back as a new list: the same way as for 410, which an API server sends after minutes."""
    async with behind_proxy(control_plane, tmp_path) as (line, kubeconfig), start_node(kubeconfig=kubeconfig) as node:
        place = LocalPlace(api, kubectl, namespace, node.name, node)
        for n in range(3):
            line.cut()
            await place.create(place.pod(place.shell("exit 0"), name=f"pod-{n}"))
            await place.until(over, "it is over", name=f"pod-{n}")


async def test_a_plain_life_is_few_writes(local: LocalPlace, audit: AuditLog) -> None:
    await local.create(local.pod(local.shell("exec sleep 600")))
    await local.until(ready, "it is ready")
    await asyncio.sleep(0.5)  # nothing more may come
    await local.ended()
    ours: list[Write] = []

    async def last_is_logged() -> bool:
        ours[:] = [each for each in audit.writes(user="local-node", namespace=local.namespace) if each.name == "story"]
        return any(each.verb == "delete" for each in ours)

    await eventually(last_is_logged, "the delete is in the log, which may be later than its event")
    assert 2 <= len(ours) <= 5, ours
    assert [each.verb for each in ours][-1] == "delete"
    assert sum(each.verb == "delete" for each in ours) == 1


async def test_what_has_not_changed_is_not_written_again(local: LocalPlace, audit: AuditLog) -> None:
    await local.create(local.pod(local.shell("exec sleep 600")))
    await local.until(ready, "it is ready")
    life = local.node._pods.named(local.namespace, "story")
    assert life is not None
    assert await life._writer.write()  # whatever had not been told yet
    before = audit.writes(user="local-node", namespace=local.namespace)
    assert await life._writer.write()
    assert audit.writes(user="local-node", namespace=local.namespace) == before


async def test_sixty_pods_at_once(local: LocalPlace) -> None:
    names = [f"pod-{n}" for n in range(60)]
    await asyncio.gather(*(local.create(local.pod(local.shell("exec sleep 600"), name=name)) for name in names))
    found = await asyncio.gather(*(local.until(ready, "it is ready", name=name) for name in names))
    assert len({status["podIP"] for status in found}) == 60
    assert all(condition(status, "PodScheduled")["status"] == "True" for status in found)


async def test_the_scheduler_gives_a_node_no_more_than_its_capacity(
    api: Api, kubectl: Kubectl, namespace: str, start_node: StartNode
) -> None:
    async with start_node(pods=1) as node:
        place = LocalPlace(api, kubectl, namespace, node.name, node)
        await place.create(place.pod(place.shell("sleep 600"), name="first"))
        await place.until(ready, "it is ready", name="first")
        await place.create(place.pod(place.shell("sleep 600"), name="second"))
        status = await place.until(
            lambda s: condition(s, "PodScheduled").get("reason") == "Unschedulable", "there is no room", name="second"
        )
        assert "Too many pods" in condition(status, "PodScheduled")["message"]
