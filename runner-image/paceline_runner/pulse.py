"""Shows that the main loop turns, and tells when a handler has held it for longer than anybody can wait."""

import asyncio
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

from paceline_runner.keeper import Stuck
from paceline_runner.settings import Settings
from paceline_runner.workbench import Workbench

BEAT: Final = 0.5
SILENCE: Final = 3.0
"""Seconds without a beat after which a handler is taken to hold the loop."""


class Pulse:
    """Beaten in the main loop, felt by the keeper's thread."""

    def __init__(self, settings: Settings, bench: Callable[[], Workbench | None]) -> None:
        """`bench` is what is being worked on, if anything."""
        self._settings, self._bench = settings, bench
        self._last = time.monotonic()
        self._told_by: float | None = None
        """When the time is over that a signal has given us; known also while the loop does not turn."""

    async def beat(self) -> None:
        """For ever."""
        while True:
            self._last = time.monotonic()
            await asyncio.sleep(BEAT)

    def note(self, number: signal.Signals) -> None:
        """Hear of a signal also while a handler holds the loop: then Python calls this, and the loop does nothing."""
        loops = signal.getsignal(number)

        def noted(signum: int, frame: FrameType | None) -> None:
            if self._told_by is None:
                self._told_by = time.monotonic() + self._settings.drain_timeout
            if callable(loops):
                loops(signum, frame)

        signal.signal(number, noted)

    def stuck(self) -> Stuck | None:
        """Whether a handler holds the loop although its time is over, or the runner's."""
        now = time.monotonic()
        if now - self._last < SILENCE:
            return None
        late, bench = now - self._settings.grace, self._bench()
        if self._told_by is not None and self._told_by < late:
            return Stuck("was told to leave, and a handler does not yield", leaving=True)
        for running in list(bench.attempts.values()) if bench else ():
            if running.deadline is not None and running.deadline < late:
                reason = f"has a handler that does not yield, and job {running.job.id} has timed out"
                return Stuck(reason, leaving=False)
        return None
