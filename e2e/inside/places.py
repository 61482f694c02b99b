"""A namespace of a kind cluster, for the stories that are also told on the local node."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cluster.operator.watcher import Watcher
from cluster.place import Json, Place, ready
from paceline.queue import Queue
from paceline_dev.group import runner_group
from paceline_dev.images.recipe import STORIES, default_tag
from paceline_dev.kind.install import DEPLOYMENT, OPERATOR_PODS, SYSTEM
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import Api
from paceline_operator.handlers.settings import DEFAULT_INSTALL
from support.forked import Forked
from support.times import LEAST, step


@dataclass
class KindPlace(Place):
    """Pods that a kubelet runs."""

    image = os.environ.get("PACELINE_E2E_BASE", "")
    patience = 120.0
    """A kubelet looks again after a minute where nobody tells it of a change."""

    @property
    def where(self) -> Json:
        return {}

    async def run_out_of_memory(self, pod: str) -> None:
        done = await self.run("exec", pod, "-c", "main", "--", "touch", "/tmp/eat")  # noqa: S108 -- in the container
        assert done.returncode == 0, done.stderr


@dataclass
class KindSite(Watcher):
    """A namespace with a database, and Paceline in the cluster."""

    api: Api
    kubectl: Kubectl
    namespace: str
    queue: Queue
    url: str
    scratch: Path
    image: str = field(default_factory=lambda: f"{STORIES.name}:{default_tag()}")
    laptops: list[Forked] = field(default_factory=list)
    steps: list[tuple[str, tuple[str, float]]] = field(default_factory=list)
    """What was waited for, and how long."""

    app = "e2e.image.jobs:jobs"
    patience = 150.0

    async def until(self, true: Callable[[], object], what: str, seconds: float | None = None) -> None:
        began = time.monotonic()
        await super().until(true, what, seconds)
        if (took := time.monotonic() - began) > LEAST:
            self.steps.append(step(what, took))

    @property
    def install(self) -> str:
        return DEFAULT_INSTALL

    @property
    def operator_namespace(self) -> str:
        return SYSTEM

    @asynccontextmanager
    async def without_operator(self) -> AsyncIterator[None]:
        await self.operators(0)
        try:
            yield
        finally:
            await self.operators(2)

    async def operators(self, count: int) -> None:
        """Wait until there are so many, all of them ready; those who left are gone."""
        await self.sh("-n", SYSTEM, "scale", DEPLOYMENT, f"--replicas={count}")

        async def so_many() -> bool:
            return [ready(each["status"]) for each in await self.operator_pods()] == [True] * count

        await self.until(so_many, f"{count} operators are ready")

    async def operator_pods(self) -> list[Json]:
        """Also those that are on their way out."""
        path = f"/api/v1/namespaces/{SYSTEM}/pods"
        found: list[Json] = (await self.api.get(path, labelSelector=OPERATOR_PODS))["items"]
        return found

    async def allow(self, name: str) -> None:
        await self.queue.database.value(f"CREATE TABLE {name} ()")

    def group(
        self, replicas: int = 1, name: str = "builds", memory: str = "512Mi", image: str = "", **spec: object
    ) -> Json:
        """A RunnerGroup; today's image unless one is named."""
        container = {"resources": {"limits": {"memory": memory}}}
        return runner_group(self.namespace, name, replicas, image or self.image, spec, container=container)

    def log(self) -> str:
        """What the operators have said."""
        return self.kubectl.run("-n", SYSTEM, "logs", "-l", OPERATOR_PODS, "--tail=100", check=False).stdout

    async def sh(self, *args: str) -> tuple[int, str]:
        """kubectl without a namespace."""
        done = await asyncio.to_thread(self.kubectl.run, *args, check=False)
        return done.returncode, done.stdout + done.stderr
