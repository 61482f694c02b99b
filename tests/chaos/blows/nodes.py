"""What happens to pods and nodes."""

import asyncio
import contextlib

from chaos.blows.scene import Scene
from chaos.stage import LEASE, NODE_GRACE
from paceline_dev.errors import DevError
from paceline_dev.node.faults import NodeFault

AWAY_SECONDS = NODE_GRACE + LEASE + 3


async def kill_for_memory(scene: Scene) -> None:
    await _inflicted(scene, "oom_kill")


async def evict(scene: Scene) -> None:
    await _inflicted(scene, "evict")


async def _inflicted(scene: Scene, method: str) -> None:
    """A pod that works may be gone when it is its turn: then another one."""
    while True:
        pod = await scene.busy_pod()
        node = scene.stage.node_of(pod)
        if node is None:
            continue
        with contextlib.suppress(DevError):
            getattr(node, method)(scene.stage.namespace, pod)
            return


async def lose_node(scene: Scene) -> None:
    node = scene.draw.choice(scene.stage.nodes)
    node.break_down(NodeFault(not_ready=True, lose_pods=True))
    try:
        await asyncio.sleep(AWAY_SECONDS)
    finally:
        node.break_down(NodeFault())
