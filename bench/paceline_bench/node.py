"""A local node whose pods are real runners."""

import sys
from pathlib import Path
from typing import Final

from paceline_bench.process import ROOT
from paceline_bench.site import Site
from paceline_dev.control_plane import NODE_KUBECONFIG
from paceline_dev.node.images import PATH, Image
from paceline_dev.node.node import LocalNode
from paceline_dev.node.node_object import NodeSpec

PROGRAMS: Final = Path(sys.executable).parent
IMAGE: Final = Image(
    entrypoint=(str(PROGRAMS / "paceline"), "run"),
    env={"PATH": f"{PROGRAMS}:{PATH}", "PYTHONPATH": str(ROOT), "PACELINE_APP": "paceline_bench.held:jobs"},
)


def node(site: Site) -> LocalNode:
    """For `async with`; big enough for whatever is measured."""
    spec = NodeSpec("bench-node", cpu="100", memory="100Gi")
    return LocalNode(site.plane.folder / NODE_KUBECONFIG, spec, images={"bench": IMAGE})
