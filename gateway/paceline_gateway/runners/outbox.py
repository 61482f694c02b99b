"""Frames on their way to a client, in their order, and the close after the last of them.

A client that does not read is as good as gone: what waits for it is bounded, and so is how long.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from fastapi import WebSocket

from paceline.job import Claimed
from paceline_gateway.runners.runs import run_text

SILENT: Final = 4408
MOST_UNSENT: Final = 1_000
"""Frames that wait."""
PATIENCE_SECONDS: Final = 30.0
"""For one frame to be taken."""


class Unsent(NamedTuple):
    """A frame, and the run that it brings."""

    text: str
    run: Claimed | None = None


class Outbox:
    """Of one socket."""

    def __init__(self, socket: WebSocket, sent: Callable[[], None]) -> None:
        """`sent` is called when a run has gone out."""
        self._socket, self._sent = socket, sent
        self._queue: asyncio.Queue[Unsent | int] = asyncio.Queue(MOST_UNSENT)
        self._sending: asyncio.Task[Any] | None = None
        self._full = False
        self.runs = 0
        """Runs that wait."""

    def put(self, kind: str, **frame: Any) -> None:
        """A frame."""
        self._add(Unsent(json.dumps({"type": kind, **frame})))

    def give(self, job: Claimed) -> None:
        """A run."""
        self.runs += 1
        self._add(Unsent(run_text(job, type="run"), job))

    def close(self, code: int) -> None:
        """Nothing after this."""
        self._add(code)

    async def run(self) -> int:
        """Send, until the end; the code to close with."""
        self._sending = asyncio.current_task()
        try:
            while not isinstance(frame := await self._queue.get(), int):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._socket.send_text(frame.text)
                if frame.run is not None:
                    self.runs -= 1
                    self._sent()
        except TimeoutError:
            return SILENT
        except asyncio.CancelledError:
            if self._full:
                return SILENT
            raise
        return frame

    def unsent(self) -> list[Claimed]:
        """The runs that are still here; one that is half out may have arrived."""
        left = [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        return [frame.run for frame in left if not isinstance(frame, int) and frame.run is not None]

    def _add(self, frame: Unsent | int) -> None:
        try:
            self._queue.put_nowait(frame)
        except asyncio.QueueFull:
            self._full = True
            if self._sending is not None:
                self._sending.cancel()
