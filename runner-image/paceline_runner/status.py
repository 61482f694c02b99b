"""What a runner shows of itself; written by the main loop, read by the port's threads."""

import socket
import threading
from collections.abc import Callable
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
    _idle: threading.Event = field(default_factory=threading.Event)

    def say_idle(self) -> None:
        """Nothing runs, and nothing will."""
        self._idle.set()

    def wait_idle(self) -> None:
        """Wait for that."""
        self._idle.wait()
