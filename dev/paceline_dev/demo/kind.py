"""The stage on a kind cluster: Paceline as it is installed, runners in containers, kills that come from the node."""

import asyncio
import contextlib
import functools
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, NoReturn

from paceline.database import Database
from paceline.migrate import migrate
from paceline_dev.binaries import find_binaries
from paceline_dev.cache import locked
from paceline_dev.demo.account import Books
from paceline_dev.demo.stage import OpenStage, Setting, Stage
from paceline_dev.images.recipe import DEMO, default_tag
from paceline_dev.kind import record as records
from paceline_dev.kind.bring_up import bring_up
from paceline_dev.kind.cluster import DEFAULT_NAME, WRAPPER
from paceline_dev.kind.commands import told
from paceline_dev.kind.engine import find_engine
from paceline_dev.kind.install import OPERATOR_PODS, SYSTEM, install
from paceline_dev.kind.kill import kill_container
from paceline_dev.kind.places import places
from paceline_dev.kind.postgres import reachable_postgres
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import Api
from paceline_dev.node.wire import Json
from paceline_dev.progress import Reporter, stderr_reporter

KIND: Final = "kind"
"""`CLUSTER=kind` is any kind cluster: the one that `make cluster` makes."""
NAMESPACE: Final = "paceline-demo"
LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/paceline-operator"


def enter(cluster: str, rate: float) -> NoReturn:
    """Bring the cluster up, and become the demo within its network."""
    name, report = DEFAULT_NAME if cluster == KIND else cluster, stderr_reporter()
    known = records.read(places(), records.check_name(name))
    with told():
        engine = find_engine(report)
        made = bring_up(engine, name, known.workers if known else 0, DEMO, report)
        words = ["demo-inside", name, "--machine", made.machine, "--rate", str(rate)]
        command = engine.inside([sys.executable, "-m", "paceline_dev", *words])
        os.execvpe(command[0], command, engine.client_environment())  # noqa: S606 -- signals and terminal stay the demo's


def inside(cluster: str, machine: str) -> Setting:
    """The stage for a process within the cluster's network; `machine` is the address by which pods reach it."""
    return Setting(
        functools.partial(_prepare, cluster, machine),
        f"cluster {cluster} stays, with Paceline in it: `make cluster-delete CLUSTER={cluster}` removes it",
    )


@dataclass(slots=True)
class KindStage(Stage):
    """A namespace of a cluster."""

    wrapper: Path

    namespace: ClassVar[str] = NAMESPACE
    image: ClassVar[str] = f"{DEMO.name}:{default_tag()}"
    patience: ClassVar[float] = 120.0

    @property
    def look_around(self) -> str:
        """Through the wrapper that enters the network."""
        return f"{self.wrapper} kubectl -n {self.namespace} get rgrp,rnr,pods"

    async def operators(self) -> Mapping[str, str]:
        """The pods of the Deployment; the Lease tells which one acts."""
        holder = ((await self.api.get(LEASE))["spec"].get("holderIdentity") or "").rpartition("-")[0]
        return {name: _does(each, holder) for name, each in (await self._operator_pods()).items()}

    async def kill_operator(self, name: str) -> None:
        """Its pod stays, and starts it anew."""
        pod = (await self._operator_pods())[name]
        await asyncio.to_thread(kill_container, pod, "operator")

    async def kill_runner(self, pod: str) -> None:
        """Its pod is over then."""
        found = await self.api.get(f"/api/v1/namespaces/{self.namespace}/pods/{pod}")
        await asyncio.to_thread(kill_container, found, "runner")

    def last_words(self) -> str:
        """From the logs of their pods."""
        said = self.kubectl.run("-n", SYSTEM, "logs", "-l", OPERATOR_PODS, "--tail=2", check=False)
        return " / ".join(said.stdout.splitlines())

    async def _operator_pods(self) -> dict[str, Json]:
        found = await self.api.get(f"/api/v1/namespaces/{SYSTEM}/pods", labelSelector=OPERATOR_PODS)
        return {each["metadata"]["name"]: each for each in found["items"]}


def _does(pod: Json, holder: str) -> str:
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", ()))
    return "starts" if not ready else "acts" if pod["metadata"]["name"] == holder else "stands by"


@contextlib.contextmanager
def _prepare(cluster: str, machine: str, report: Reporter) -> Iterator[OpenStage]:
    """Paceline installed, a database, and a namespace of the demo's own for as long as it plays."""
    own = records.folder(places(), cluster)
    with contextlib.ExitStack() as stack:
        stack.enter_context(locked(own / "demo.lock", report.line))
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="paceline-demo-")))
        kubeconfig = scratch / "kubeconfig"
        kubeconfig.write_bytes(places().kubeconfig(cluster).read_bytes())
        kubectl = Kubectl(find_binaries(report).kubectl, kubeconfig)
        kubectl.run("config", "set-context", "--current", f"--namespace={NAMESPACE}")
        with report.task("installing Paceline"):
            install(kubectl)
        with report.task("starting PostgreSQL"):
            postgres = stack.enter_context(reachable_postgres())
        with report.task(f"making namespace {NAMESPACE}"):
            remove(kubectl)
            kubectl.run("create", "namespace", NAMESPACE)
        stack.callback(_leave, kubectl, report)
        yield functools.partial(_open, kubectl, postgres.url, machine, own / "bin" / WRAPPER)


@contextlib.asynccontextmanager
async def _open(kubectl: Kubectl, url: str, machine: str, wrapper: Path) -> AsyncIterator[Stage]:
    async with contextlib.AsyncExitStack() as stack:
        await migrate(url)
        database = await stack.enter_async_context(await Database.open(url))
        api = await stack.enter_async_context(await Api.connect(kubectl.kubeconfig))
        yield KindStage(kubectl, api, database, url.replace("127.0.0.1", machine), Books(database), wrapper)


def _leave(kubectl: Kubectl, report: Reporter) -> None:
    """In order: the operator cleans up after groups while the database is there."""
    with report.task(f"removing namespace {NAMESPACE}"):
        kubectl.run("delete", "rgrp", "--all", "--timeout=60s", check=False)
        remove(kubectl)


def remove(kubectl: Kubectl) -> None:
    """Remove the demo's namespace, also one of a demo that was killed and took its database with it."""
    if kubectl.run("get", "namespace", NAMESPACE, check=False).returncode != 0:
        return
    kubectl.run("delete", "rgrp", "--all", "--wait=false")  # first: the operator gives a live one its finalizer back
    for group in kubectl.run("get", "rgrp", "-o", "name").stdout.split():
        kubectl.run("patch", group, "--type=merge", "--patch", json.dumps({"metadata": {"finalizers": None}}))
    kubectl.run("delete", "namespace", NAMESPACE, "--wait=false")
    kubectl.run("delete", "pods", "--all", "--grace-period=0", "--force", check=False)
    kubectl.run("wait", f"namespace/{NAMESPACE}", "--for=delete", "--timeout=120s")
