"""The local node as a place for stories, and as the subject of its own tests."""

import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cluster.place import Json, Place
from paceline_dev.node.images import PATH, Image
from paceline_dev.node.node import LocalNode
from paceline_dev.node.node_object import NodeSpec
from paceline_dev.node.services import Timing

TAINT = "tests.paceline.dev/own"
DEBIAN = Image(env={"PATH": f"{Path(sys.executable).parent}:{PATH}"})
QUICK = Timing(backoff=0.5, backoff_most=2.0, retry=0.2)


@dataclass
class LocalPlace(Place):
    """A namespace whose pods go to one local node."""

    node_name: str
    node: LocalNode

    @property
    def where(self) -> Json:
        return where(self.node_name)

    async def run_out_of_memory(self, pod: str) -> None:
        self.node.oom_kill(self.namespace, pod)


def where(node: str) -> Json:
    """Bound by the real scheduler, and to that node only."""
    return {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "tolerations": [{"key": TAINT, "operator": "Exists", "effect": "NoSchedule"}],
    }


class StartNode(Protocol):
    """Makes a node."""

    def __call__(
        self,
        name: str = "",
        *,
        timing: Timing = ...,
        leave_objects: bool = ...,
        kubeconfig: Path = ...,
        pods: int = ...,
    ) -> LocalNode:
        """A node of that name, or of a fresh one."""


def local_node(usual: Path) -> StartNode:
    """Nodes that know one image and renew their Lease every second."""

    def make(
        name: str = "",
        *,
        timing: Timing = QUICK,
        leave_objects: bool = False,
        kubeconfig: Path = usual,
        pods: int = 110,
    ) -> LocalNode:
        taint: Json = {"key": TAINT, "effect": "NoSchedule"}
        spec = NodeSpec(name or f"node-{secrets.token_hex(4)}", pods=pods, cpu="100", memory="100Gi", taints=[taint])
        images = {Place.image: DEBIAN}
        return LocalNode(kubeconfig, spec, images=images, timing=timing, renew=1.0, leave_objects=leave_objects)

    return make
