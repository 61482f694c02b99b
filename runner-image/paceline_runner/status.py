"""What a runner shows of itself; written by the main loop, read by the port's thread."""

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

State = Literal["starting", "active", "draining", "unreachable"]


@dataclass(slots=True)
class Status:
    """One for a process."""

    name: str
    holding: Callable[[], int]
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    hostname: str = field(default_factory=socket.gethostname)
    state: State = "starting"
    _idle: Future[None] = field(default_factory=Future)

    def say_idle(self) -> None:
        """Nothing runs, and nothing will."""
        if not self._idle.done():
            self._idle.set_result(None)

    async def until_idle(self) -> None:
        """Wait for that, in whichever loop."""
        await asyncio.shield(asyncio.wrap_future(self._idle))
