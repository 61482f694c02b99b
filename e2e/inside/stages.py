"""The kind cluster as a stage on which versions of Paceline come and go."""

import asyncio
import os
from pathlib import Path

from cluster.upgrade.stage import Stage
from paceline_dev import REPOSITORY
from paceline_dev.images.recipe import STORIES
from paceline_dev.kind.install import DEPLOYMENT, SYSTEM, install


class KindStage(Stage):
    """Images are on the nodes; pods have their tokens from the kubelet."""

    def image(self, version: str) -> str:
        return f"{STORIES.name}:{version}"

    def as_pods_see(self, url: str) -> str:
        return url.replace("127.0.0.1", os.environ["PACELINE_E2E_HOST"])

    async def trust(self) -> None:
        """The kubelet does."""

    async def install(self, tree: Path) -> None:
        """Today's with a mark of its build: nodes may have another one of the same tag."""
        if tree == REPOSITORY:
            await asyncio.to_thread(install, self.site.kubectl)
        else:
            await super().install(tree)

    async def restart(self) -> None:
        """The kinds may have been made anew under operators that run, which then hear of nothing."""
        await self.kubectl("-n", SYSTEM, "rollout", "restart", DEPLOYMENT)
        await self.rolled_out()

    async def clear(self) -> None:
        """No Paceline, before a story in which it comes."""
        everything = str(REPOSITORY / "manifests" / "cluster-wide")
        await self.kubectl("delete", "-k", everything, "--ignore-not-found", "--timeout=120s")
