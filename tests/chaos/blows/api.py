"""What happens to the API server and the way to it."""

import asyncio
import contextlib
from collections.abc import Iterator

import psutil

from chaos.blows.scene import Scene
from cluster.operator.watcher import GROUPS, RUNNERS
from paceline.testing.guard import Guarded
from paceline_dev.node.api import MERGE, TROUBLE, AnswerError

AWAY_SECONDS = 3.0
GONE_SECONDS = 5.0
BUSY_SECONDS = 6.0
CONFLICT_SECONDS = 8.0
TWICE_SECONDS = 10.0
SILENT_SECONDS = 15.0
ANNOTATION = "chaos.example.com/written"


async def restart(scene: Scene) -> None:
    stage = scene.stage
    pid = stage.api_server.pid if stage.api_server else stage.plane.pids["kube-apiserver"]
    server = psutil.Process(pid)
    command, environ = server.cmdline(), server.environ()
    server.kill()
    await asyncio.sleep(AWAY_SECONDS)
    if stage.api_server:
        await asyncio.to_thread(stage.api_server.stop)
    log = stage.scratch / "api-server.log"
    stage.api_server = await asyncio.to_thread(lambda: Guarded(command, log=log, env=environ, grace=1.0))

    async def answers() -> bool:
        try:
            return "ok" in await stage.api.text("/readyz")
        except (AnswerError, *TROUBLE):
            return False

    await stage.until(answers, "the API server is back")


async def forget(scene: Scene) -> None:
    door = scene.stage.door
    before = door.aged
    door.forgetful = True
    try:
        door.cut_watches()
        await asyncio.sleep(GONE_SECONDS)
    finally:
        door.forgetful = False
    assert door.aged > before, "no watch began meanwhile"


async def be_busy(scene: Scene) -> None:
    with _switched(scene, "busy"):
        await asyncio.sleep(BUSY_SECONDS)


async def repeat(scene: Scene) -> None:
    with _switched(scene, "twice"):
        await asyncio.sleep(TWICE_SECONDS)


@contextlib.contextmanager
def _switched(scene: Scene, name: str) -> Iterator[None]:
    setattr(scene.stage.door, name, True)
    try:
        yield
    finally:
        setattr(scene.stage.door, name, False)


async def write_too(scene: Scene) -> None:
    """Every version that the operators have seen is old when they write."""
    loop = asyncio.get_running_loop()
    end, turn = loop.time() + CONFLICT_SECONDS, 0
    while loop.time() < end:
        turn += 1
        for path in await _objects(scene):
            with contextlib.suppress(AnswerError):  # it may have gone
                await scene.stage.api.patch(path, {"metadata": {"annotations": {ANNOTATION: str(turn)}}}, MERGE)


async def _objects(scene: Scene) -> list[str]:
    namespace = scene.stage.namespace
    found = []
    for path in (GROUPS.format(namespace), RUNNERS.format(namespace), f"/api/v1/namespaces/{namespace}/pods"):
        found += [f"{path}/{each['metadata']['name']}" for each in (await scene.stage.api.get(path))["items"]]
    return found


async def silence(scene: Scene) -> None:
    line = scene.stage.line
    line.swallow()
    try:
        await asyncio.sleep(SILENT_SECONDS)
    finally:
        line.refuse(False)


async def forget_gateways(scene: Scene) -> None:
    """As a router that was restarted: who has a connection hears nothing more, who makes a new one does."""
    scene.hit += scene.diallers
    scene.stage.front.forget()
