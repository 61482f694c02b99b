"""A namespace of a kind cluster, for the stories that are also told on the local node."""

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path

from cluster.operator.watcher import Watcher
from cluster.place import Json, Place
from e2e.inside.collect import OPERATOR
from paceline.queue import Queue
from paceline_dev.group import runner_group
from paceline_dev.images.recipe import STORIES, default_tag
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import Api
from paceline_operator.handlers.settings import DEFAULT_INSTALL


@dataclass
class KindPlace(Place):
    """Pods that a kubelet runs."""

    image = os.environ.get("PACELINE_E2E_BASE", "")

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

    patience = 90.0

    @property
    def install(self) -> str:
        return DEFAULT_INSTALL

    def group(self, replicas: int = 1, name: str = "builds", memory: str = "512Mi", **spec: object) -> Json:
        """A RunnerGroup."""
        container = {"resources": {"limits": {"memory": memory}}}
        return runner_group(self.namespace, name, replicas, self.image, spec, container=container)

    def log(self) -> str:
        """What the operators have said."""
        return self.kubectl.run("-n", "paceline-system", "logs", "-l", OPERATOR, "--tail=100", check=False).stdout

    async def sh(self, *args: str) -> tuple[int, str]:
        """kubectl without a namespace."""
        done = await asyncio.to_thread(self.kubectl.run, *args, check=False)
        return done.returncode, done.stdout + done.stderr
