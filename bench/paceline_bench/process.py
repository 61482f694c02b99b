"""Programs that are measured: each ends with this process, and its end is seen at once."""

import os
import select
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

from paceline.testing.guard import Guarded
from paceline.testing.scratch import last_words
from paceline_bench.errors import NotMeasuredError
from paceline_bench.workers import URL

ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Command:
    """A program, its arguments, and what it finds in its environment beyond ours."""

    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


Start: TypeAlias = Callable[[str], Command]
"""How a program is started on the database behind a URL."""


def worker(module: str, url: str, *arguments: object) -> Command:
    """One of our own workers, as a process of its own."""
    return Command((sys.executable, "-m", f"paceline_bench.workers.{module}", *map(str, arguments)), {URL: url})


class Process:
    """A running program."""

    def __init__(self, command: Command) -> None:
        """Start it."""
        self._folder = tempfile.TemporaryDirectory(prefix="paceline-bench-")
        environment = {**_inherited(), "PYTHONPATH": str(ROOT), **command.environment}
        self._log = Path(self._folder.name) / "log"
        self._guarded = Guarded(command.arguments, log=self._log, env=environment)

    @property
    def pid(self) -> int:
        """The program's own process id."""
        return self._guarded.pid

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._guarded.alive()

    def require(self) -> None:
        """Complain if it has ended by itself; what it said goes to stderr, where a path does no harm."""
        if not self.alive():
            sys.stderr.write(f"{self.said()}\n")
            raise NotMeasuredError("its process ended before the measurement did (its last words are on stderr)")

    def said(self) -> str:
        """Its last line."""
        return last_words(self._log.read_text(errors="replace"))

    def lines(self, word: str) -> list[list[float]]:
        """The numbers on its whole lines that begin with a word."""
        *whole, _ = self._log.read_text(errors="replace").split("\n")
        lines = [line.split() for line in whole]
        return [[float(each) for each in line[1:]] for line in lines if line and line[0] == word]

    def terminate(self) -> None:
        """Ask it to end, and do not wait."""
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End it as a machine without power would: it can do nothing more, and says nothing."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self, seconds: float) -> bool:
        """Whether it ended in time; returns the moment it does (a loop that looks would add its own interval)."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            return bool(poll.poll(seconds * 1000))
        finally:
            os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._guarded.stop()
        self._folder.cleanup()


def _inherited() -> dict[str, str]:
    """Our environment without what would change a subject: its own settings, and imports that compile every time."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PACELINE_") and name != "PYTHONDONTWRITEBYTECODE"
    }
