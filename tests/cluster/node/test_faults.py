"""Faults, by method and by annotation, and what the control plane makes of them."""

import asyncio
import time
from collections.abc import Callable

import pytest

from cluster.local import LocalPlace
from cluster.node.marks import ended, lives
from cluster.place import condition, container, eventually, over, ready, state
from paceline_dev.node.api import MERGE
from paceline_dev.node.faults import ANNOTATION

pytestmark = pytest.mark.timeout(300)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


async def annotate(local: LocalPlace, fault: str | None, pod: str = "") -> None:
    """As `kubectl annotate` does; None takes it away."""
    path = local.path(pod) if pod else f"/api/v1/nodes/{local.node_name}"
    await local.api.patch(path, {"metadata": {"annotations": {ANNOTATION: fault}}}, MERGE)


async def running(local: LocalPlace, restart: str = "Never") -> list[int]:
    await local.create(local.pod(local.shell("exec sleep 600"), restart=restart))
    await local.until(ready, "it is ready")
    return local.node.pids(local.namespace, "story")


async def node_ready(local: LocalPlace) -> str:
    found = await local.api.get(f"/api/v1/nodes/{local.node_name}")
    return str(condition(found["status"], "Ready")["status"])


@pytest.mark.parametrize("by", ["method", "annotation"])
async def test_lost_pods_are_reported_only_when_they_are_found_again(local: LocalPlace, by: str) -> None:
    pids = await running(local)
    before = await local.status()
    if by == "method":
        local.node.lose_pods()
    else:
        await annotate(local, "lose-pods")
    await ended(*pids)
    await local.create(local.pod(local.shell("exit 0"), name="meanwhile"))
    await asyncio.sleep(0.5)  # nothing may happen, which no event tells
    assert await local.status() == before
    assert "containerStatuses" not in await local.status("meanwhile")
    if by == "method":
        local.node.restore_pods()
    else:
        await annotate(local, None)
    status = await local.until(over, "it is found lost")
    assert (status["phase"], state(status, "terminated")["reason"]) == ("Failed", "ContainerStatusUnknown")
    assert (await local.until(over, "the other is over", name="meanwhile"))["phase"] == "Succeeded"


@pytest.mark.parametrize("by", ["method", "annotation"])
async def test_one_lost_pod_is_started_again_where_its_policy_says_so(local: LocalPlace, by: str) -> None:
    pids = await running(local, restart="Always")
    restore: Callable[[], None] | None = None
    if by == "method":
        restore = local.node.lose(local.namespace, "story")
    else:
        await annotate(local, "lose", "story")
    await ended(*pids)
    if restore:
        restore()
    else:
        await annotate(local, None, "story")
    status = await local.until(lambda s: ready(s) and container(s)["restartCount"] == 1, "it runs again")
    last = container(status)["lastState"]["terminated"]
    assert (last["reason"], last["exitCode"]) == ("ContainerStatusUnknown", 137)
    assert len(status["podIPs"]) == 1


async def test_a_pod_found_again_before_it_was_quite_dead_is_started_again(local: LocalPlace) -> None:
    await running(local, restart="Always")
    local.node.lose(local.namespace, "story")()
    await local.until(lambda s: ready(s) and container(s)["restartCount"] == 1, "it runs again")


async def test_a_silent_node_is_called_lost_while_its_processes_run_on(local: LocalPlace) -> None:
    pids = await running(local)
    await annotate(local, "not-ready")

    async def tainted() -> bool:
        found = await local.api.get(f"/api/v1/nodes/{local.node_name}")
        return "node.kubernetes.io/unreachable" in {each["key"] for each in found["spec"].get("taints") or ()}

    await eventually(tainted, "the node controller misses it")
    assert await node_ready(local) == "Unknown"
    await local.until(lambda s: not ready(s), "its pods are called unready")
    assert all(lives(pid) for pid in pids)
    await annotate(local, None)

    async def back() -> bool:
        return await node_ready(local) == "True"

    await eventually(back, "the node is back")
    status = await local.until(ready, "the pod is ready again")
    assert container(status)["restartCount"] == 0


async def test_a_node_that_is_cut_off_catches_up_when_it_is_back(local: LocalPlace) -> None:
    pids = await running(local)
    await local.create(local.pod(local.shell("exec sleep 600"), name="forced"))
    await local.until(ready, "it is ready", name="forced")
    forced = local.node.pids(local.namespace, "forced")
    local.node.go_not_ready()
    await local.delete("story", grace=1)
    await local.delete("forced", grace=0)
    await asyncio.sleep(0.5)  # nothing may happen, which no event tells
    assert all(lives(pid) for pid in (*pids, *forced))
    await local.ended(_later(local.node.go_ready))
    await ended(*pids, *forced)


def _later(call: Callable[[], None]) -> Callable[[], "asyncio.Future[None]"]:
    def order() -> "asyncio.Future[None]":
        call()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    return order


async def test_a_silent_node_does_not_renew_its_lease(local: LocalPlace) -> None:
    async def renewed() -> str:
        return str((await local.api.get(f"{LEASES}/{local.node_name}"))["spec"]["renewTime"])

    first = await renewed()

    async def moves() -> bool:
        return await renewed() != first

    await eventually(moves, "the lease is renewed")
    local.node.go_not_ready()
    silent = ""

    async def rests() -> bool:
        nonlocal silent
        silent = await renewed()
        await asyncio.sleep(3.5)  # three renewals
        return await renewed() == silent

    await eventually(rests, "after the renewal at hand there is none")
    local.node.go_ready()

    async def moves_again() -> bool:
        return await renewed() != silent

    await eventually(moves_again, "the lease is renewed again")


@pytest.mark.parametrize("by", ["method", "annotation"])
async def test_a_container_is_killed_for_its_memory(local: LocalPlace, by: str) -> None:
    pids = await running(local)
    if by == "method":
        local.node.oom_kill(local.namespace, "story", "main")
    else:
        await annotate(local, "oom-kill=main", "story")
    end = state(await local.until(over, "it is over"), "terminated")
    assert (end["exitCode"], end["reason"]) == (137, "OOMKilled")
    await ended(*pids)


@pytest.mark.parametrize("by", ["method", "annotation"])
async def test_a_pod_is_evicted_for_the_nodes_sake(local: LocalPlace, by: str) -> None:
    await running(local)
    if by == "method":
        local.node.evict(local.namespace, "story")
    else:
        await annotate(local, "evict", "story")
    status = await local.until(over, "it is over")
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert status["message"] == "The node was low on resource: memory. "
    found = condition(status, "DisruptionTarget")
    assert (found["status"], found["reason"]) == ("True", "TerminationByKubelet")
    assert state(status, "terminated")["exitCode"] == 143


@pytest.mark.parametrize("by", ["method", "annotation"])
async def test_a_slow_node_takes_its_time(local: LocalPlace, by: str) -> None:
    if by == "method":
        local.node.be_slow(1.0)
    else:
        await annotate(local, "slow=1s")

        async def slow() -> bool:
            return local.node.faults.now.slow == 1.0

        await eventually(slow, "the node has seen it")
    began = time.monotonic()
    await local.create(local.pod(local.shell("exit 0")))
    await local.until(over, "it is over")
    assert time.monotonic() - began > 1.9, "a start and a status are a second each"
    local.node.be_slow(0)


async def test_a_fault_that_does_not_exist_changes_nothing(local: LocalPlace) -> None:
    await running(local)
    await annotate(local, "explode")
    await annotate(local, "explode", "story")
    await annotate(local, "oom-kill", "story")
    assert state(await local.until(over, "it is over"), "terminated")["reason"] == "OOMKilled"
