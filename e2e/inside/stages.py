"""The kind cluster as a stage on which versions of Paceline come and go."""

import asyncio
import os
from pathlib import Path

from cluster.upgrade.stage import Stage
from paceline_dev import REPOSITORY
from paceline_dev.images.recipe import STORIES
from paceline_dev.kind.install import install
from paceline_dev.kubectl import Kubectl

OURS = ("-l", "app.kubernetes.io/name=paceline")


class KindStage(Stage):
    """Images are on the nodes; pods have their tokens from the kubelet."""

    def image(self, version: str) -> str:
        return f"{STORIES.name}:{version}"

    def as_pods_see(self, url: str) -> str:
        return url.replace("127.0.0.1", os.environ["PACELINE_E2E_HOST"])

    async def trust(self) -> None:
        """The kubelet does."""

    async def install(self, tree: Path, folder: str = "cluster-wide") -> None:
        """Today's with a mark of its build: nodes may have another one of the same tag."""
        if tree == REPOSITORY:
            await asyncio.to_thread(install, self.site.kubectl, folder)
        else:
            await super().install(tree, folder)

    async def clear(self) -> None:
        await asyncio.to_thread(clear, self.site.kubectl)


def clear(kubectl: Kubectl) -> None:
    """No Paceline, before a story in which it comes; nor what only an older version had."""
    everything = str(REPOSITORY / "manifests" / "cluster-wide")
    kubectl.run("delete", "-k", everything, "--ignore-not-found", "--timeout=120s")
    kubectl.run("delete", "apiservices,clusterroles,clusterrolebindings,rolebindings", "--all-namespaces", *OURS)
