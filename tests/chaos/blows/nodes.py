"""What happens to pods and nodes."""

import asyncio
import contextlib

from chaos.blows.scene import Scene
from chaos.stage import LEASE, NODE_GRACE
from paceline_dev.errors import DevError
from paceline_dev.node.api import TROUBLE, AnswerError
from paceline_dev.node.faults import NodeFault

AWAY_SECONDS = NODE_GRACE + LEASE + 3
LOOK_SECONDS = 0.5


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
            scene.hit.append(pod)
            getattr(node, method)(scene.stage.namespace, pod)
            return


async def lose_node(scene: Scene) -> None:
    node = scene.draw.choice(scene.stage.nodes)
    loop = asyncio.get_running_loop()
    await _note_pods(scene, node.name)
    node.break_down(NodeFault(not_ready=True, lose_pods=True))
    end = loop.time() + AWAY_SECONDS
    try:
        while loop.time() < end:
            await asyncio.sleep(LOOK_SECONDS)
            await _note_pods(scene, node.name)
    finally:
        node.break_down(NodeFault())


async def _note_pods(scene: Scene, node: str) -> None:
    """Those that are there, also the ones that are bound to a node of which nobody knows yet that it is lost."""
    with contextlib.suppress(AnswerError, *TROUBLE):
        for each in await scene.stage.pods():
            if each["spec"].get("nodeName") == node and each["metadata"]["name"] not in scene.hit:
                scene.hit.append(each["metadata"]["name"])
