"""A cluster of its own for each measurement: control plane, database, and a namespace in which an operator may work.

What one measurement leaves behind (pods that wait for a node, garbage to collect) costs the next one nothing.
"""

import asyncio
import contextlib
import functools
import json
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paceline.testing import PostgresServer
from paceline_bench.errors import NotMeasuredError
from paceline_bench.systems.paceline import SYSTEM
from paceline_bench.templates import Templates
from paceline_dev.audit import Write
from paceline_dev.binaries import Binaries
from paceline_dev.control_plane import ControlPlane
from paceline_dev.group import runner_group
from paceline_dev.kubectl import KINDS
from paceline_dev.node.api import MERGE, AnswerError, Api
from paceline_dev.node.wire import Json
from paceline_dev.rights import rights_of

NAMESPACE: Final = "bench"
INSTALL: Final = "bench"
ACCOUNT: Final = "paceline-operator"
USER: Final = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
GROUPS: Final = f"/apis/paceline.dev/v1alpha1/namespaces/{NAMESPACE}/runnergroups"
RUNNERS: Final = f"/apis/paceline.dev/v1alpha1/namespaces/{NAMESPACE}/runners"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
TOKEN_SECONDS: Final = 8 * 3600
"""Longer than any bench."""
PATIENCE: Final = 90.0
LOOK_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Site:
    """Where an operator is measured."""

    plane: ControlPlane
    api: Api
    """As the administrator, so that the audit log tells the bench's writes from the operator's."""
    kubeconfig: Path
    """The operator's way in: a service account with the shipped rights."""
    url: str
    """Of the database."""

    async def trust(self, url: str) -> None:
        """Let groups find the database there."""
        secret = {"metadata": {"name": "db"}, "stringData": {"url": url}}
        await self.api.post(f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)

    async def add_group(
        self, name: str, replicas: int, *, scheduled: bool = True, autoscaling: Mapping[str, object] | None = None
    ) -> None:
        """Make a RunnerGroup with one-slot runners."""
        await self.api.post(GROUPS, group(name, replicas, scheduled=scheduled, autoscaling=autoscaling))

    async def scale(self, name: str, replicas: int) -> None:
        """What `kubectl scale` does."""
        await self.api.patch(f"{GROUPS}/{name}/scale", {"spec": {"replicas": replicas}}, MERGE)

    async def pods(self) -> list[Json]:
        """All pods of the namespace."""
        found: list[Json] = (await self.api.get(PODS))["items"]
        return found

    async def count_pods(self) -> int:
        """How many there are."""
        return await self._count(PODS)

    async def count_runners(self) -> int:
        """How many Runner objects there are."""
        return await self._count(RUNNERS)

    async def _count(self, path: str) -> int:
        """One is sent, the others are only counted."""
        found = await self.api.get(path, limit="1")
        return len(found["items"]) + int(found["metadata"].get("remainingItemCount") or 0)

    async def settled(self, groups: int, ready: int, seconds: float = PATIENCE) -> None:
        """Wait until each of so many groups has as many runners as it wants, and all of them may claim."""

        async def is_so() -> bool:
            found = (await self.api.get(GROUPS))["items"]
            return len(found) == groups and all(_as_wanted(each, ready) for each in found)

        await until(is_so, f"{groups} groups with {ready} runners each", seconds, pause=0.25)

    def writes(self) -> list[Write]:
        """What the operator has written, but for its Lease."""
        return apart_from_lease(self.plane.audit.writes(user=USER))

    async def quiet(self, seconds: float) -> None:
        """Wait until the operator has written nothing for so long."""
        last, since = -1, time.monotonic()

        async def is_so() -> bool:
            nonlocal last, since
            if (now := len(self.writes())) != last:
                last, since = now, time.monotonic()
            return time.monotonic() - since >= seconds

        await until(is_so, f"the operator writes nothing for {seconds:g} s", pause=min(seconds, 1.0))


def apart_from_lease(writes: Iterable[Write]) -> list[Write]:
    """The Lease is renewed every second, whatever else happens."""
    return [each for each in writes if each.resource != "leases"]


def group(name: str, replicas: int, *, scheduled: bool = True, autoscaling: Mapping[str, object] | None = None) -> Json:
    """A RunnerGroup of the bench; pods that only pretend to run are hidden from the scheduler."""
    pod: Json = {} if scheduled else {"schedulerName": "nobody"}
    spec: Json = {"slots": 1} if autoscaling is None else {"slots": 1, "autoscaling": autoscaling}
    return runner_group(NAMESPACE, name, replicas, "bench", spec, pod=pod)


def _as_wanted(found: Json, ready: int) -> bool:
    status = found.get("status") or {}
    conditions = {each["type"]: each["reason"] for each in status.get("conditions", ())}
    return (status.get("readyReplicas") or 0) == ready and conditions.get("Ready") == "AsWanted"


async def until(
    true: Callable[[], Awaitable[object]], what: str, seconds: float = PATIENCE, pause: float = LOOK_SECONDS
) -> None:
    """Look again and again."""
    end = time.monotonic() + seconds
    while not await true():
        if time.monotonic() > end:
            raise NotMeasuredError(f"it never came to this: {what}")
        await asyncio.sleep(pause)


@contextlib.asynccontextmanager
async def site(binaries: Binaries, server: PostgresServer, templates: Templates) -> AsyncIterator[Site]:
    """A new one, gone at the end."""
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(server.database(await templates.full(SYSTEM, 0)))
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="paceline-bench-")))
        plane = stack.enter_context(ControlPlane.start(binaries))
        api = await stack.enter_async_context(await Api.connect(plane.kubeconfig))
        await _furnish(plane, api)
        kubeconfig = scratch / "operator.kubeconfig"
        kubeconfig.write_text(json.dumps(await _access(plane, api)))
        yield Site(plane, api, kubeconfig, url)


async def _furnish(plane: ControlPlane, api: Api) -> None:
    """Our kinds, a namespace, and in it a service account with the rights that are shipped."""
    plane.kubectl.teach()
    for kind in KINDS:
        await until(functools.partial(_served, api, kind), f"{kind} are served")
    await api.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    with contextlib.suppress(AnswerError):  # its controller may be quicker
        await api.post(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
    plane.kubectl.run("apply", "-n", NAMESPACE, "-f", "-", stdin=rights_of(INSTALL))
    await api.post(f"{RBAC}/namespaces/{NAMESPACE}/rolebindings", _binding(ACCOUNT))
    await api.post(f"{RBAC}/namespaces/{NAMESPACE}/rolebindings", _binding(f"{ACCOUNT}-lease", kind="Role"))
    await api.post(f"{RBAC}/clusterrolebindings", _binding(f"{ACCOUNT}-nodes"))


async def _served(api: Api, kind: str) -> bool:
    """A kind that is established may still say that its storage begins (429) for a while on a busy machine."""
    try:
        await api.get(f"/apis/paceline.dev/v1alpha1/{kind}")
    except AnswerError:
        return False
    return True


def _binding(role: str, kind: str = "ClusterRole") -> Json:
    return {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
    }


async def _access(plane: ControlPlane, api: Api) -> Json:
    asked = await api.post(
        f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token",
        {"spec": {"expirationSeconds": TOKEN_SECONDS}},
    )
    config: Json = json.loads(plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": asked["status"]["token"]}
    return config
