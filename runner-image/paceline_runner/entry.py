"""The way in: somebody who answers, and a registration, however long that takes."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from paceline.errors import SchemaError
from paceline_runner.ports import AWAY, Way
from paceline_runner.settings import MARGIN
from paceline_runner.tenure import Tenure

T = TypeVar("T")
log = logging.getLogger("paceline.runner")


class Entry:
    """Waits for what is away; a refusal is an error. Ends when the runner has to leave."""

    def __init__(self, way: Way, kinds: tuple[str, ...], leaving: asyncio.Event) -> None:
        """For one runner."""
        self._way, self._kinds, self._leaving = way, kinds, leaving

    async def connected(self) -> bool:
        """Whether it is; False if we have to leave."""
        return await self._patiently(self._way.place, self._connect) is not None

    async def registered(self, wake: Callable[[], None]) -> Tenure | None:
        """A registration; None if we have to leave."""
        return await self._patiently("a registration", lambda: self._register(wake))

    async def _connect(self) -> bool:
        await self._way.connect()
        return True

    async def _register(self, wake: Callable[[], None]) -> Tenure:
        sent = time.monotonic()
        seat, lease = await self._way.register(self._kinds)
        return Tenure(seat, sent + lease - MARGIN, wake, lease=lease)

    async def _patiently(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T | None:
        told, pauses = "", self._way.pauses()
        while not self._leaving.is_set():
            try:
                return await attempt()
            except (*AWAY, SchemaError) as error:
                if str(error) != told:
                    log.warning("waiting for %s: %s", what, error)
                    told = str(error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(next(pauses)):
                    await self._leaving.wait()
        return None
