"""What handlers print and log while they run is kept with their attempt, wherever it goes besides."""

import io
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from paceline_runner.attempt import Attempt

CURRENT: "ContextVar[Attempt | None]" = ContextVar("paceline_attempt", default=None)
"""The attempt that this code runs in; tasks and threads of a handler inherit it."""


class Overheard(io.TextIOBase):
    """A stream that also writes to the attempt at hand."""

    def __init__(self, to: TextIO) -> None:
        """Stand before a stream."""
        self._to = to

    def write(self, text: str) -> int:
        """Pass it on, and keep it."""
        if (attempt := CURRENT.get()) is not None:
            attempt.output.write(text)
        return self._to.write(text)

    def flush(self) -> None:
        """Pass it on."""
        self._to.flush()

    def __getattr__(self, name: str) -> Any:
        """Whatever else a stream can do."""
        return getattr(self._to, name)


class KeptLines(logging.Handler):
    """Log lines of the attempt at hand."""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        if (attempt := CURRENT.get()) is not None:
            at = datetime.fromtimestamp(record.created, UTC)
            attempt.output.write(f"{at:%H:%M:%S} {record.levelname.lower()} {self.format(record)}\n")


def overhear() -> None:
    """Listen from now on; the log goes to the real stderr, or its lines would be kept twice."""
    sys.stdout, sys.stderr = Overheard(sys.stdout), Overheard(sys.stderr)
    logging.getLogger().addHandler(KeptLines())
