"""One registration as both threads of a runner see it: how long it may go on, and how it ended."""

import threading
import time
from collections.abc import Callable

from paceline_runner.ports import Seat


class Tenure:
    """From a registration to its end. Written by the thread that keeps the lease, read by everybody."""

    def __init__(self, seat: Seat, deadline: float, wake: Callable[[], None], *, lease: float = 30.0) -> None:
        """`deadline`: the monotonic time until which we may hold jobs; `wake` may be called from any thread."""
        self.incarnation = seat
        self.lease = lease
        """Seconds, from sending a heartbeat that is accepted."""
        self.wake = wake
        self.listening = False
        """Whether we are told of work."""
        self.draining = seat.draining
        self.leave = False
        self.cause: str | None = None
        """Who ended it, once it has."""
        self._deadline = deadline
        self._cancelled: set[int] = set()
        self._lock = threading.Lock()

    @property
    def deadline(self) -> float:
        """Until when we may hold jobs unless another heartbeat is accepted."""
        return self._deadline

    @property
    def valid(self) -> bool:
        """Whether what we do still counts."""
        return self.cause is None and time.monotonic() < self._deadline

    def renew(self, deadline: float) -> None:
        """A heartbeat was accepted."""
        self._deadline = deadline

    def end(self, cause: str) -> None:
        """It is over; the first one who says so is believed."""
        with self._lock:
            self.cause = self.cause or cause
        self.wake()

    def cancel(self, jobs: frozenset[int]) -> None:
        """Somebody wants these stopped."""
        with self._lock:
            self._cancelled |= jobs
        self.wake()

    def take_cancelled(self) -> set[int]:
        """Which ones, since last asked."""
        with self._lock:
            taken, self._cancelled = self._cancelled, set()
        return taken
