"""Full queues to copy from, made once: every repetition begins with the same bytes."""

import secrets
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeAlias

from paceline.testing import PostgresServer
from paceline_bench.server import connected, renamed
from paceline_bench.systems import System

Fill: TypeAlias = Callable[[str, int], Awaitable[None]]


class Templates:
    """One database for each system, filled when it is first needed and dropped at the end."""

    def __init__(self, server: PostgresServer) -> None:
        """Begin with none."""
        self._server = server
        self._made: dict[tuple[str, int, bool], str] = {}

    async def full(self, system: System, jobs: int, fill: Fill | None = None) -> str:
        """The name of a database that holds so many no-op jobs of a system, put in by its own means or another way."""
        key = (system.name, jobs, fill is None)
        if key not in self._made:

            async def prepare(url: str) -> None:
                await (fill or system.prepare)(url, jobs)

            name = f"full_{system.name}_{jobs}_{secrets.token_hex(4)}"
            self._made[key] = await self._server.template(name, prepare)
            async with connected(renamed(self._server.url, name)) as connection:
                await connection.execute("VACUUM (ANALYZE)")
        return self._made[key]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        async with connected(self._server.url) as connection:
            for name in self._made.values():
                await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
