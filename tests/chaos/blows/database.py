"""What happens to PostgreSQL: crashes, a failover, a disk that is full or slow, no connections, silent ones."""

import asyncio
import contextlib
import signal

import asyncpg
import psutil

from chaos.blows.scene import NotHere, Scene
from chaos.stage import LEASE, ROLES

FULL_SECONDS = 10.0
MOST_SECONDS = 30.0
NO_ROOM = "No space left on device"
SLOW_SECONDS = 15.0
STALL, FLOW = 0.4, 0.1
LIMIT_SECONDS = 8.0
TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1"


async def restart(scene: Scene) -> None:
    server = scene.stage.databases.primary
    await asyncio.to_thread(server.crash)
    await asyncio.to_thread(server.start)


async def fail_over(scene: Scene) -> None:
    await scene.stage.databases.fail_over()


async def heal(scene: Scene) -> None:
    """After a failover: the server that was lost comes back as the standby."""
    await scene.stage.databases.add_standby()


async def fill(scene: Scene) -> None:
    """For a while, and until the server has complained; it is given no room by what it frees itself."""
    databases = scene.stage.databases
    if not databases.limited:
        raise NotHere("the data has no file system of its own (needs root, to mount one)")
    server = databases.primary
    before, loop = server.complaints(NO_ROOM), asyncio.get_running_loop()
    end = loop.time() + FULL_SECONDS
    try:
        while loop.time() < end or (server.complaints(NO_ROOM) == before and loop.time() < end + MOST_SECONDS):
            await asyncio.to_thread(server.fill)
            with contextlib.suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                async with databases.connected() as connection:
                    await connection.execute("SELECT pg_switch_wal()")
            await asyncio.sleep(0.3)
    finally:
        await asyncio.to_thread(server.make_room)
        if not server.alive():
            await asyncio.to_thread(server.start)
    scene.need(server.complaints(NO_ROOM) > before, "the server has noticed that its disk is full")


async def slow(scene: Scene) -> None:
    server = scene.stage.databases.standby
    loop = asyncio.get_running_loop()
    end = loop.time() + SLOW_SECONDS
    while loop.time() < end:
        receiver = server.receiver()
        try:
            _signal(receiver, signal.SIGSTOP)
            await asyncio.sleep(STALL)
        finally:
            _signal(receiver, signal.SIGCONT)
        await asyncio.sleep(FLOW)


def _signal(process: psutil.Process | None, number: signal.Signals) -> None:
    if process:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


async def limit(scene: Scene) -> None:
    logins = [scene.stage.login(way) for way in ROLES]
    try:
        for login in logins:
            await scene.stage.database.value(f"ALTER ROLE {login} CONNECTION LIMIT 0")
            await scene.stage.database.rows(TERMINATE, login)
        await asyncio.sleep(LIMIT_SECONDS)
    finally:
        for login in logins:
            await scene.stage.database.value(f"ALTER ROLE {login} CONNECTION LIMIT -1")


async def silence(scene: Scene) -> None:
    """Of the pods alone. What was on its way arrives in the end, when it is too late for it."""
    way = scene.stage.databases.ways["pods"]
    way.swallow()
    try:
        await asyncio.sleep(LEASE + 4)
    finally:
        way.refuse(False)
