"""The database of a run and what people and the operator do to it: housekeeping, drains, taints, promotions, restarts.

Calls made here go on after an outage: what is asked for is asked again until the server has answered.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

import asyncpg

from history.events import Late
from history.plan import TOLERATION, Outage, Plan
from paceline.testing import PostgresServer

GONE = (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.InternalClientError,
        asyncpg.AdminShutdownError, asyncpg.CrashShutdownError, asyncpg.CannotConnectNowError)  # fmt: skip
"""What a client hears of a server that goes or is not there."""
AWAY = 60
"""Seconds of patience for a server that is restarted."""
TICK = 0.25
NEWEST = """
    SELECT i.id FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner
     WHERE r.name = $1 AND i.state <> 'z' ORDER BY i.id DESC LIMIT 1
"""
LOST = """
    SELECT a.job, a.fence, a.incarnation FROM paceline.attempt a JOIN paceline.job j ON j.id = a.job
     WHERE a.outcome = 'l' AND a.ended_at > clock_timestamp() - interval '20 seconds'
     ORDER BY (j.state = 'x') DESC, a.ended_at DESC LIMIT 5
"""
LATE_CLAIM = "SELECT paceline.step($1, 1)"
"""One that was on its way when the runner was drained or fenced; the record shows whether it got something."""
LATE_CALLS = {
    "ack": "SELECT refused FROM paceline.step($1, 0, $2, $3)",
    "fail": "SELECT paceline.fail($1, $2, $3, ARRAY['late'], ARRAY[0.0])",
    "hand_back": "SELECT paceline.hand_back($1, $2, $3)",
}


class Site:
    """One database, on a server of its own that can be restarted."""

    def __init__(self, server: PostgresServer, url: str, say: Callable[[str], None]) -> None:
        self.server, self.url, self.say = server, url, say
        self.outages: list[tuple[float, float]] = []
        self.late: list[Late] = []
        self.unspared: set[str] = set()
        """Runners whose faults are not over."""
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._turn = asyncio.Lock()

    async def rows(self, sql: str, *args: object) -> list[asyncpg.Record]:
        """What a statement returns, whatever happens to the server meanwhile."""
        end = time.monotonic() + AWAY
        async with self._turn:
            while True:
                try:
                    if self._connection is None:
                        self._connection = await asyncpg.connect(self.url, timeout=10)
                    return await self._connection.fetch(sql, *args)
                except GONE as error:
                    if time.monotonic() > end:
                        raise TimeoutError("the server stays away") from error
                    if self._connection:
                        self._connection.terminate()
                    self._connection = None
                    await asyncio.sleep(0.05)

    async def value(self, sql: str, *args: object) -> object:
        found = await self.rows(sql, *args)
        return found[0][0] if found else None

    @contextlib.asynccontextmanager
    async def connected(self) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
        """A connection for quiet times."""
        connection = await asyncpg.connect(self.url, timeout=10)
        try:
            yield connection
        finally:
            await connection.close()

    def close(self) -> None:
        if self._connection:
            self._connection.terminate()

    def spared(self, runner: str) -> None:
        self.unspared.discard(runner)

    async def fence(self, runner: str) -> None:
        """As the operator does when it sees that a container has ended."""
        if (incarnation := await self.value(NEWEST, runner)) is not None:
            await self.rows("SELECT paceline.fence_incarnation($1, 'OOMKilled')", incarnation)
            await self.rows(LATE_CLAIM, incarnation)

    async def drain(self, runner: str) -> bool:
        """Whether there was somebody to drain."""
        if (incarnation := await self.value(NEWEST, runner)) is None:
            return False
        await self.rows("SELECT paceline.drain($1)", incarnation)
        await self.rows(LATE_CLAIM, incarnation)
        return True

    async def taint(self, runner: str, key: str, effect: str, source: str = "annotation") -> None:
        await self.rows(
            "SELECT paceline.taint_runner(r.id, $4, ARRAY[$2], ARRAY[''], ARRAY[$3])"
            " FROM paceline.runner r WHERE r.name = $1", runner, key, effect, source,
        )  # fmt: skip

    async def untaint(self, runner: str, source: str = "annotation") -> None:
        await self.rows(
            "SELECT paceline.taint_runner(r.id, $2, '{}', '{}', '{}') FROM paceline.runner r WHERE r.name = $1",
            runner, source,
        )  # fmt: skip

    async def keep_house(self) -> None:
        """The tick, as the operator does it: also when all runners are away. And what zombies have left to say."""
        while True:
            await self.rows("SELECT paceline.tick()")
            for job, fence, incarnation in await self.rows(LOST):
                for call, sql in LATE_CALLS.items():
                    try:
                        refused = await self.value(sql, incarnation, [job], [fence]) == [job]
                    except asyncpg.PostgresError:  # it went further than it may
                        refused = False
                    self.late.append(Late(call=call, job=job, fence=fence, refused=refused))
            await asyncio.sleep(TICK)

    async def promote(self, plan: Plan) -> None:
        for gap, runner in plan.promotions:
            await asyncio.sleep(gap)
            await self.rows(
                "SELECT paceline.promote(r.grp, r.id) FROM paceline.runner r WHERE r.name = $1", runner
            )  # fmt: skip

    async def tease(self, plan: Plan) -> None:
        """Taints that come and go from another source than those of the faults."""
        for gap, runner, seconds in plan.taints:
            await asyncio.sleep(gap)
            await self.taint(runner, TOLERATION, "NoClaim", "api")
            await asyncio.sleep(seconds)
            await self.untaint(runner, "api")

    async def suffer(self, plan: Plan) -> None:
        """Restarts of the server."""
        for gap, outage in plan.outages:
            await asyncio.sleep(gap)
            self.say(f"the server {outage}")
            began = time.time()
            await asyncio.to_thread(self.server.crash if outage is Outage.CRASH else self.server.halt)
            await asyncio.to_thread(self.server.resume)
            self.outages.append((began, time.time()))
