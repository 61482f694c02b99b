"""The types of the database fixtures, for tests that name them."""

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
