"""One connection that stays, for heartbeats and wake-ups: a pool's connections forget that they listen."""

import asyncio
import contextlib
import secrets
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self

import asyncpg

from paceline.database import Address, in_our_words

if TYPE_CHECKING:
    from paceline.database import Record

PROBE_SECONDS: Final = 2.0


class Line:
    """A connection of one's own. It answers one statement at a time; a second one waits for its turn."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]", address: Address) -> None:
        """Use a connection that is open; `open` makes one."""
        self._connection = connection
        self._turn = asyncio.Lock()
        self._closed = asyncio.Event()
        connection.add_termination_listener(lambda _: self._closed.set())
        self.address = address

    @classmethod
    async def open(cls, url: str, *, timeout: float = 10) -> Self:  # noqa: ASYNC109 -- for the server's answer, not for us
        """Connect, or fail after `timeout` seconds."""
        address = Address.parse(url)
        with in_our_words(address):
            return cls(await asyncpg.connect(address.url, timeout=timeout, statement_cache_size=0), address)

    @property
    def closed(self) -> bool:
        """Whether it has ended, by us or by the server."""
        return self._connection.is_closed()

    def close(self) -> None:
        """End it at once, whatever it waits for."""
        self._connection.terminate()

    async def until_closed(self, seconds: float) -> None:
        """Wait for its end, so long at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closed.wait()

    async def rows(self, sql: str, *args: object) -> "list[Record]":
        """What a statement returns."""
        async with self._turn:
            with in_our_words(self.address):
                return await self._connection.fetch(sql, *args)

    async def value(self, sql: str, *args: object) -> Any:
        """The first column of the first row."""
        async with self._turn:
            with in_our_words(self.address):
                return await self._connection.fetchval(sql, *args)

    async def listen(self, channel: str, heard: Callable[[], None]) -> bool:
        """Call `heard` at each NOTIFY; whether they come through."""
        return await self.hear(channel, lambda _: heard())

    async def hear(self, channel: str, heard: Callable[[str], None]) -> bool:
        """Call `heard` with what each NOTIFY says; whether they come through. Behind PgBouncer they would not.

        The probe alone does not tell: it is sent in our own transaction, and to that PgBouncer may lend the very
        connection that has listened before.
        """
        if self.address.pgbouncer or await self._borrowed():
            return False
        probe, came = f"paceline_probe_{secrets.token_hex(8)}", asyncio.Event()
        async with self._turn:
            with in_our_words(self.address):
                await self._connection.add_listener(channel, lambda *told: heard(str(told[-1])))
                await self._connection.add_listener(probe, lambda *_: came.set())
        await self.value("SELECT pg_notify($1, '')", probe)
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await came.wait()
        except TimeoutError:
            return False
        return True

    async def _borrowed(self) -> bool:
        """Whether PgBouncer lends us the server's connections: it makes up the process id that we were told."""
        return bool(await self.value("SELECT pg_backend_pid()") != self._connection.get_server_pid())


class Lines:
    """Where lines are opened, for whoever opens one again when his has ended."""

    def __init__(self, url: str) -> None:
        """`url` is a way to the database that does not go through PgBouncer."""
        self._url = url
        self._opened: weakref.WeakSet[Line] = weakref.WeakSet()

    async def open(self) -> Line:
        """One more."""
        url = self._url
        line = await Line.open(url)
        if url != self._url:
            line.close()  # it was on its way when all others ended
        self._opened.add(line)
        return line

    def move(self, url: str) -> None:
        """Open them with another login, or elsewhere, from now on; those that are there end."""
        self._url = url
        for line in list(self._opened):
            line.close()
