"""SIGKILL and SIGSTOP of runners, operators and gateways, jobs that kill, and clocks that jump."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable

from chaos.blows.scene import NotHere, Scene
from chaos.seats import Seat
from chaos.stage import LEASE
from chaos.work import deadly

STANDBY_SECONDS = 12.0
GATEWAY_SECONDS = 12.0
JUMP_SECONDS = 10.0
HOUR = 3600
POISON = "SELECT EXISTS (SELECT FROM paceline.dead WHERE id = $1 AND cause = 'Poison')"


async def kill_runner(scene: Scene) -> None:
    _signal(await _caught(scene), signal.SIGKILL)
    dialler = scene.draw.choice(scene.stage.diallers)
    scene.hit.append(dialler.name)
    dialler.kill()


async def stop_runner(scene: Scene) -> None:
    pids = await _caught(scene)
    scene.stopped |= dict.fromkeys(pids, time.monotonic())
    try:
        await asyncio.sleep(LEASE + 4)
    finally:
        _signal(pids, signal.SIGCONT)


async def _caught(scene: Scene) -> list[int]:
    """The processes of a pod, stopped while it has a job: most are over before anybody can aim."""
    while True:
        pod = await scene.busy_pod()
        node = scene.stage.node_of(pod)
        pids = node.pids(scene.stage.namespace, pod) if node else []
        _signal(pids, signal.SIGSTOP)
        if pids and pod in await scene.busy_pods():
            scene.hit.append(pod)
            return pids
        _signal(pids, signal.SIGCONT)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


async def kill_leader(scene: Scene) -> None:
    (await scene.stage.acting()).kill()


async def stop_leader(scene: Scene) -> None:
    """Until the other one acts: what the first then still wants to do comes too late."""
    leader = await scene.stage.acting()
    (other,) = (seat for seat in scene.stage.operators if seat is not leader)
    await _stopped(leader, scene.until(lambda: scene.stage.acts(other), "the other operator acts"))


async def kill_standby(scene: Scene) -> None:
    (await _standby(scene)).kill()


async def stop_standby(scene: Scene) -> None:
    await _stopped(await _standby(scene), asyncio.sleep(STANDBY_SECONDS))


async def _standby(scene: Scene) -> Seat:
    leader = await scene.stage.acting()
    return next(seat for seat in scene.stage.operators if seat is not leader)


async def kill_gateway(scene: Scene) -> None:
    scene.hit += scene.diallers
    scene.draw.choice(scene.stage.gateways).kill()


async def stop_gateway(scene: Scene) -> None:
    scene.hit += scene.diallers
    await _stopped(scene.draw.choice(scene.stage.gateways), asyncio.sleep(GATEWAY_SECONDS))


async def _stopped(seat: Seat, until: Awaitable[None]) -> None:
    seat.signal(signal.SIGSTOP)
    try:
        await until
    finally:
        seat.signal(signal.SIGCONT)


async def jump(scene: Scene) -> None:
    clock = scene.stage.clock
    if clock.missing:
        raise NotHere(clock.missing)
    clock.jump(scene.draw.choice((-HOUR, HOUR)))
    try:
        await asyncio.sleep(JUMP_SECONDS)
    finally:
        clock.jump(0)


async def kill_by_payload(scene: Scene) -> None:
    """Who takes it is lost; after two the queue has understood."""
    job = await scene.producers.put(deadly(scene.producers.next_number()))
    scene.deadly.append(job)

    async def poison() -> bool:
        return bool(await scene.stage.database.value(POISON, job))

    await scene.until(poison, f"job {job}, which kills whoever runs it, is taken for poison", 120)
