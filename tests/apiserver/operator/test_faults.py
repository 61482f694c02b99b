"""The API server restarts, hangs, is overloaded or breaks off: repeated where that is safe, given up in time."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from aiohttp import web

from apiserver.operator.between import Between
from apiserver.operator.conftest import PATIENT, QUICK
from apiserver.operator.people import account, kubeconfig, pod, runner, uid
from paceline.testing.guard import Guarded
from paceline_dev.binaries import find_binaries
from paceline_dev.control_plane import ControlPlane
from paceline_dev.kubectl import Kubectl
from paceline_dev.progress import stderr_reporter
from paceline_operator.adapters.access import Kubeconfig
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.adapters.retry import Retries
from paceline_operator.ports.errors import AlreadyExistsError, ConflictError, NotLeadingError, UnreachableError
from paceline_operator.ports.resources import NAMESPACE, POD, RUNNER, ResourceKind
from support.proxy import Proxy, proxy

ONE_AT_A_TIME = """
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {{name: {0}}}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 0
    lendablePercent: 0
    borrowingLimitPercent: 0
    limitResponse: {{type: Reject}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {{name: {0}}}
spec:
  priorityLevelConfiguration: {{name: {0}}}
  matchingPrecedence: 2
  rules:
    - subjects: [{{kind: ServiceAccount, serviceAccount: {{name: flood, namespace: {0}}}}}]
      resourceRules: [{{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}}]
"""


class Counts:
    """What `on_request` was told."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, int]] = []

    def __call__(self, verb: str, resource: ResourceKind, status: int, seconds: float) -> None:
        assert seconds >= 0
        self.seen.append((verb, str(resource), status))


@asynccontextmanager
async def through(
    plane: Path, address: str, folder: Path, retries: Retries, seconds: float
) -> AsyncIterator[tuple[KubernetesCluster, Proxy, Counts]]:
    """The adapter behind a TCP proxy that can misbehave."""
    counts = Counts()
    async with proxy(address) as wire:
        path = kubeconfig(folder, server=wire.url.replace("//@", "//"), plane=plane)
        access = Kubeconfig(str(path))
        async with KubernetesCluster(access, timeout=seconds, retries=retries, on_request=counts) as cluster:
            yield cluster, wire, counts


@pytest.mark.timeout(300)
async def test_a_restart_of_the_api_server_is_waited_for(tmp_path: Path) -> None:
    with ControlPlane.start(find_binaries(stderr_reporter())) as plane:
        async with KubernetesCluster(Kubeconfig(str(plane.kubeconfig)), retries=Retries(total=90.0)) as cluster:
            plane.kubectl.run("wait", "serviceaccount/default", "--for=create", "--timeout=30s")
            await cluster.apply(pod("default", "before"))
            server = psutil.Process(plane.pids["kube-apiserver"])
            command, environ = server.cmdline(), server.environ()
            server.kill()
            server.wait(60)
            waiting = [
                asyncio.ensure_future(cluster.get(POD, "default", "before")),
                asyncio.ensure_future(cluster.apply(pod("default", "after"))),
                asyncio.ensure_future(cluster.create(pod("default", "created"))),
            ]
            await asyncio.sleep(0.5)
            assert not any(call.done() for call in waiting)
            with Guarded(command, log=tmp_path / "again.log", env=environ, grace=1.0):
                found = await asyncio.gather(*waiting)
                assert [each["metadata"]["name"] for each in found if each] == ["before", "after", "created"]


async def test_a_broken_connection_is_mended(
    control_plane: Path, crds: list[str], address: str, namespace: str, tmp_path: Path
) -> None:
    async with through(control_plane, address, tmp_path, PATIENT, 30.0) as (cluster, wire, counts):
        made = await cluster.apply(runner(namespace))
        wire.cut()
        assert await cluster.apply(runner(namespace)) == made
        wire.refuse()
        wire.cut()
        later = asyncio.ensure_future(cluster.apply(runner(namespace)))
        await asyncio.sleep(0.2)
        wire.refuse(False)
        assert await later == made
        assert ("apply", "runners.paceline.dev", 0) in counts.seen
        assert counts.seen[-1] == ("apply", "runners.paceline.dev", 200)


async def test_a_server_that_hangs_is_given_up_in_time(control_plane: Path, address: str, tmp_path: Path) -> None:
    retries = Retries(first=0.01, longest=0.05, total=6.0)
    async with through(control_plane, address, tmp_path, retries, 0.5) as (cluster, wire, counts):
        while ("list", "namespaces", 200) not in counts.seen:
            with contextlib.suppress(UnreachableError):  # half a second may be too little for a busy one
                await cluster.list(NAMESPACE, None)
        wire.swallow()
        began = time.monotonic()
        with pytest.raises(UnreachableError, match=r"get namespaces default failed \d+ times: no answer after 0\.\d s"):
            await cluster.get(NAMESPACE, None, "default")
        assert time.monotonic() - began > 3
        assert counts.seen.count(("get", "namespaces", 0)) >= 2


async def test_a_server_that_is_not_there_is_given_up_in_time(
    control_plane: Path, namespace: str, tmp_path: Path
) -> None:
    path = kubeconfig(tmp_path, server="https://127.0.0.1:1", plane=control_plane)
    async with KubernetesCluster(Kubeconfig(str(path)), retries=QUICK) as cluster:
        began = time.monotonic()
        for asking in (cluster.get(POD, namespace, "p"), cluster.create(pod(namespace))):
            with pytest.raises(UnreachableError, match=r"failed \d+ times: cannot connect"):
                await asking
        assert time.monotonic() - began < 20, "not after 15 seconds each, as it is without being told"


async def test_priority_and_fairness_turn_us_away_until_there_is_room(
    control_plane: Path, address: str, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    token = account(kubectl, namespace, "flood", "get,list")
    path = kubeconfig(tmp_path, server=address, plane=control_plane, token=token)
    kubectl.run("apply", "-f", "-", stdin=ONE_AT_A_TIME.format(namespace))
    counts = Counts()
    try:
        retries = Retries(total=90.0)
        async with KubernetesCluster(Kubeconfig(str(path)), retries=retries, on_request=counts) as cluster:
            while ("list", "pods", 429) not in counts.seen:
                found = await asyncio.gather(*(cluster.list(POD, namespace) for _ in range(8)))
                assert found == [[]] * 8
    finally:
        kubectl.run("delete", "flowschema,prioritylevelconfiguration", namespace)


async def test_retry_after_is_honoured(watched: KubernetesCluster, middle: Between, namespace: str) -> None:
    middle.turns.append(middle.say(429, after=1))
    began = time.monotonic()
    assert await watched.get(RUNNER, namespace, "r") is None
    assert time.monotonic() - began >= 1


async def test_a_server_that_asks_for_more_time_than_there_is_is_given_up_at_once(
    watched: KubernetesCluster, middle: Between, namespace: str
) -> None:
    middle.turns.append(middle.say(503, after=3600))
    with pytest.raises(UnreachableError, match="said in between"):
        await watched.get(RUNNER, namespace, "r")
    assert len(middle.seen) == 1


async def test_all_that_may_be_repeated_is(watched: KubernetesCluster, middle: Between, namespace: str) -> None:
    for status in (500, 502, 503, 504, 429):
        middle.turns.append(middle.say(status))
        made = uid(await watched.apply(runner(namespace)))
        middle.turns.append(middle.say(status))
        assert await watched.patch_status(RUNNER, namespace, "r", {"podName": "p"}, uid=made)
        middle.turns.append(middle.say(status))
        assert await watched.list(RUNNER, namespace)
        middle.turns.append(middle.say(status))
        assert await watched.patch(RUNNER, namespace, "r", {}, uid=made)
        middle.turns.append(middle.say(status))
        assert await watched.delete(RUNNER, namespace, "r", uid=made)


async def test_a_lost_answer_to_an_apply_or_a_delete_does_no_harm(
    watched: KubernetesCluster, middle: Between, namespace: str
) -> None:
    middle.lose_answers = 1
    made = await watched.apply(runner(namespace))
    middle.lose_answers = 1
    assert not await watched.delete(RUNNER, namespace, "r", uid=uid(made)), "the second finds nothing"
    assert await watched.get(RUNNER, namespace, "r") is None


async def test_a_create_whose_answer_is_lost_is_not_sent_again(
    watched: KubernetesCluster, middle: Between, namespace: str
) -> None:
    middle.lose_answers = 1
    with pytest.raises(UnreachableError, match="not known whether it was carried out"):
        await watched.create(runner(namespace))
    assert len(middle.seen) == 1
    with pytest.raises(AlreadyExistsError):
        await watched.create(runner(namespace))
    middle.turns.append(middle.say(429))
    assert await watched.create(runner(namespace, "other")), "who is turned away has done nothing"


async def test_contention_for_a_quota_is_waited_out(
    watched: KubernetesCluster, hasty: KubernetesCluster, middle: Between, namespace: str
) -> None:
    crowded = middle.say(409, 'Operation cannot be fulfilled on resourcequotas "q"', reason="Conflict")
    middle.turns.append(crowded)
    await watched.apply(pod(namespace))
    middle.turns.append(crowded)
    await watched.create(pod(namespace, "other"))
    middle.always = crowded
    with pytest.raises(ConflictError, match="resourcequotas"):
        await hasty.apply(pod(namespace))


async def test_a_precondition_that_fails_is_not_tried_again(
    watched: KubernetesCluster, middle: Between, namespace: str
) -> None:
    bound = await watched.apply(runner(namespace))
    del bound["metadata"]["managedFields"]
    bound["metadata"] |= {"resourceVersion": "1"}
    middle.seen.clear()
    with pytest.raises(ConflictError):
        await watched.apply(bound)
    assert len(middle.seen) == 1


async def test_the_gate_is_asked_again_before_every_repetition(middle: Between, namespace: str, tmp_path: Path) -> None:
    leads = True

    def lose(request: web.BaseRequest) -> web.Response | None:
        nonlocal leads
        leads = False
        return middle.say(503)(request)

    middle.turns.append(lose)
    access = Kubeconfig(str(kubeconfig(tmp_path, server=middle.url)))
    async with KubernetesCluster(access, retries=PATIENT, gate=lambda: leads) as cluster:
        with pytest.raises(NotLeadingError):
            await cluster.apply(runner(namespace))
        assert len(middle.seen) == 1
        assert await cluster.get(RUNNER, namespace, "r") is None


async def test_an_answer_that_is_not_json_is_no_answer(
    watched: KubernetesCluster, middle: Between, namespace: str
) -> None:
    middle.turns.append(lambda _: web.Response(text="<html>welcome</html>"))
    assert await watched.get(RUNNER, namespace, "r") is None
    assert len(middle.seen) == 2


async def test_we_say_who_we_are(watched: KubernetesCluster, middle: Between, namespace: str) -> None:
    await watched.list(RUNNER, namespace)
    assert middle.seen[0].headers["User-Agent"].startswith("paceline-operator/0.")
