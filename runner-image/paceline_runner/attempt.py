"""One try of one job, as those see it who do the work, and what can come of it."""

import threading
from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from paceline.context import Context
from paceline.job import OUTPUT_LIMIT

if TYPE_CHECKING:
    from paceline.handler import Handler
    from paceline.job import Claimed


class Cause:
    """Why an attempt failed; the words are kept with the attempt and shown to people."""

    FAILED: Final = "Failed"
    """The handler raised, or the command or server said so."""
    TIMED_OUT: Final = "TimedOut"
    CRASHED: Final = "Crashed"
    """The process that did the work ended by itself: a signal, os._exit, out of memory."""
    CANCELLED: Final = "Cancelled"
    BAD_PAYLOAD: Final = "BadPayload"
    BAD_RESULT: Final = "BadResult"
    """Not JSON, or too large."""


@dataclass(frozen=True, slots=True)
class Done:
    """The work is done; its result as JSON."""

    result: str | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """The work is not done; without `retry_in` there will be no other try."""

    error: str
    retry_in: timedelta | None = None
    cause: str = Cause.FAILED


Ended = Done | Broken


class Attempt(Context, Protocol):
    """What an executor is given: the handler's context, and what is behind it. All may be used from any thread."""

    job: "Claimed"
    handler: "Handler"

    @property
    def output(self) -> "Tail":
        """What it has written."""


class Executor(Protocol):
    """Does the work of an attempt.

    `run` ends with what became of it and raises nothing of its own. When its task is cancelled (timeout, cancel,
    drain), it makes the work end and then lets the CancelledError pass.
    """

    async def run(self, attempt: Attempt) -> Ended:
        """Do the work."""


class Tail:
    """The last 64 KiB of what was written, in any number of pieces, from any thread."""

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        """Begin with nothing."""
        self._limit = limit
        self._pieces: deque[str] = deque()
        self._size = 0
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        """Add a text; what is too old goes."""
        if text:
            with self._lock:
                self._pieces.append(text[-self._limit :])
                self._size += len(self._pieces[-1])
                while self._size - len(self._pieces[0]) >= self._limit:
                    self._size -= len(self._pieces.popleft())
        return len(text)

    def text(self) -> str | None:
        """What is left; None if nothing was written."""
        with self._lock:
            whole = "".join(self._pieces)
        return whole[-self._limit :] or None
