"""The process groups of all living children, for whoever has to reach them from any thread."""

import contextlib
import os
import signal
import threading

from paceline_runner.children.kernel import kill_group


class Groups:
    """Process ids by the children's numbers. Each is in here only while the guard keeps it from being given again."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._pids: dict[int, int] = {}
        self.purges = 0
        """How often everything was killed."""

    def add(self, number: int, pid: int, purges: int) -> None:
        """Know a child; one that was asked for before the last purge is killed like the others."""
        with self._lock:
            self._pids[number] = pid
            if purges != self.purges:
                kill_group(pid)

    def drop(self, number: int) -> None:
        """Forget a child, before the guard does."""
        with self._lock:
            self._pids.pop(number, None)

    def kill(self, number: int) -> None:
        """Kill one group."""
        with self._lock:
            if pid := self._pids.get(number):
                kill_group(pid)

    def terminate(self, number: int) -> None:
        """Ask one group to end."""
        with self._lock, contextlib.suppress(ProcessLookupError, PermissionError):
            if pid := self._pids.get(number):
                os.killpg(pid, signal.SIGTERM)

    def kill_all(self) -> None:
        """Kill every group, now."""
        with self._lock:
            self.purges += 1
            for pid in self._pids.values():
                kill_group(pid)
