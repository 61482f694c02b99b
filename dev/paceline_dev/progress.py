"""How a development tool shows that it is alive: a live line in a terminal, now and then one in a log.

Everything goes to stderr, so that stdout stays for the tool's answer.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# A CI log of a ten-minute build then has about sixty lines, and no silence that a CI system takes for a hang.
PLAIN_INTERVAL = 10.0


class Task(Protocol):
    """One piece of work whose progress is shown."""

    def advance(self, description: str) -> None:
        """One more of `total` is reached; `description` says which."""


class Reporter(Protocol):
    """What a tool tells its user while it works."""

    def line(self, text: str) -> None:
        """Say something once."""

    def task(self, title: str, total: int | None = None) -> AbstractContextManager[Task]:
        """Show the progress of a block; when the block succeeds, say how long it took."""


def stderr_reporter() -> Reporter:
    """The reporter that suits this process's stderr."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return TerminalReporter()
    return PlainReporter()


def elapsed_text(seconds: float) -> str:
    """`7s`, `2m13s`, `1h02m03s`."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minute:02}m{second:02}s"
    return f"{minute}m{second:02}s" if minute else f"{second}s"


class _Progress:
    """The state of one task, and the one way to write it down."""

    def __init__(self, title: str, total: int | None) -> None:
        self._title = title
        self._total = total
        self._done = 0
        self._description = ""
        self._started = time.monotonic()

    def advance(self, description: str) -> None:
        self._done += 1
        self._description = description

    def text(self, width: int | None = None) -> str:
        """The present state; a description that would pass `width` loses its end, the time never does."""
        count = f"{self._done}/{self._total}" if self._total is not None else f"{self._done or ''}"
        before = " ".join(filter(None, (self._title, count)))
        elapsed = elapsed_text(time.monotonic() - self._started)
        description = self._description
        if width is not None:
            room = max(width - len(before) - len(elapsed) - 2, 0)
            if len(description) > room:
                description = description[: max(room - 1, 0)] + "…"
        return " ".join(filter(None, (before, description, elapsed)))

    def summary(self) -> str:
        return f"{self._title}: done in {elapsed_text(time.monotonic() - self._started)}"


class PlainReporter:
    """Whole lines only, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None, interval: float = PLAIN_INTERVAL) -> None:
        self._stream = stream or sys.stderr
        self._interval = interval

    def line(self, text: str) -> None:
        """Write a line at once, not when a buffer is full: the reader waits for it."""
        self._stream.write(text + "\n")
        self._stream.flush()

    @contextmanager
    def task(self, title: str, total: int | None = None) -> Iterator[Task]:
        """A line every `interval` seconds, also when the work is silent for long (linking is)."""
        progress = _Progress(title, total)
        finished = threading.Event()

        def beat() -> None:
            while not finished.wait(self._interval):
                self.line(progress.text())

        heart = threading.Thread(target=beat, name=f"progress of {title}", daemon=True)
        heart.start()
        try:
            yield progress
        finally:
            finished.set()
            heart.join()
        self.line(progress.summary())


class TerminalReporter:
    """One live line for the task at hand; what is finished scrolls up as a plain line."""

    def __init__(self, console: "Console | None" = None) -> None:
        # rich takes 40 ms to import, which a tool without a terminal should not pay.
        from rich.console import Console

        self._console = console or Console(stderr=True)

    def line(self, text: str) -> None:
        """Print above the live line, as it is: a path in brackets is no markup."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def task(self, title: str, total: int | None = None) -> Iterator[Task]:
        """Redraw the line four times a second; it vanishes at the end."""
        from rich.live import Live
        from rich.text import Text

        progress = _Progress(title, total)

        def draw() -> "Text":
            return Text(progress.text(self._console.width), no_wrap=True, overflow="ellipsis")

        with Live(get_renderable=draw, console=self._console, refresh_per_second=4, transient=True):
            yield progress
        self.line(progress.summary())
