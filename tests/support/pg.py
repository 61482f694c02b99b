"""The types of the database fixtures, for tests that name them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Protocol, TypeAlias

import asyncpg

from paceline.claims import Incarnation

Connect: TypeAlias = "Callable[[], Awaitable[asyncpg.Connection[asyncpg.Record]]]"
Tick: TypeAlias = Callable[[], Awaitable[None]]
Expire: TypeAlias = Callable[[Incarnation], Awaitable[None]]


class Register(Protocol):
    """Makes a runner of a pool."""

    async def __call__(
        self,
        name: str = "r1",
        *,
        pool: str = "builds",
        kinds: tuple[str, ...] = ("*",),
        tags: tuple[str, ...] = (),
        group: str | None = None,
        external: bool = True,
        lease: timedelta = timedelta(seconds=30),
    ) -> Incarnation:
        """Register it."""


STEP = "SELECT verdict, ids FROM paceline.step($1, $2)"


async def waits_for_a_lock(watcher: "asyncpg.Connection[asyncpg.Record]", waiting: int) -> None:
    """Return when the session with that process id waits for a lock; fail if it never does."""
    for _ in range(500):
        if await watcher.fetchval("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1", waiting):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the other session never waited for a lock")


async def behind(
    first: "asyncpg.Connection[asyncpg.Record]",
    watcher: "asyncpg.Connection[asyncpg.Record]",
    second: "asyncpg.Connection[asyncpg.Record]",
    sql: str,
    *args: object,
) -> "list[asyncpg.Record]":
    """Run a statement that must wait for the open transaction of `first`, then commit that one."""
    task = asyncio.create_task(second.fetch(sql, *args))
    await waits_for_a_lock(watcher, second.get_server_pid())
    await first.execute("COMMIT")
    return await task
