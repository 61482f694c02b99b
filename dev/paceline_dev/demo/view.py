"""How the story is told: lines in a log; in a terminal a picture that moves, with the lines under it."""

import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol, TextIO

from paceline_dev.demo.picture import GROUP_TITLES, RUNNER_TITLES, Picture

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

LINES: Final = 12
"""How many of the last lines are shown under the picture, where the terminal is high enough."""
LEAST: Final = 3


class View(Protocol):
    """Tells the story while it happens."""

    def begin(self, title: str) -> None:
        """A step begins."""

    def say(self, text: str) -> None:
        """What is done, and what came of it."""

    def end(self, seconds: float) -> None:
        """The step is over."""

    def draw(self, picture: Picture) -> None:
        """How everything stands now."""

    def close(self, lines: Sequence[str]) -> None:
        """The closing table."""


class PlainView:
    """Whole lines, each with the seconds since the beginning."""

    def __init__(self, steps: int, stream: TextIO | None = None) -> None:
        """For so many steps."""
        self._stream = stream or sys.stdout
        self._steps, self._number = steps, 0
        self._began = time.monotonic()

    def begin(self, title: str) -> None:
        """A heading."""
        self._number += 1
        self.say(f"== {self._number}/{self._steps} {title}")

    def say(self, text: str) -> None:
        """A line, at once: whoever reads it waits for it."""
        self._stream.write(f"{time.monotonic() - self._began:6.1f} s  {text}\n")
        self._stream.flush()

    def end(self, seconds: float) -> None:
        """How long it took."""
        self.say(f"== done in {seconds:.1f} s")

    def draw(self, picture: Picture) -> None:
        """A log has no picture."""

    def close(self, lines: Sequence[str]) -> None:
        """The table as it is."""
        self._stream.write("\n" + "\n".join(lines) + "\n")
        self._stream.flush()


class LiveView:
    """A picture of groups and runners in a terminal, drawn anew four times a second."""

    def __init__(self, steps: int, console: "Console | None" = None) -> None:
        """For so many steps."""
        from rich.console import Console

        self._steps, self._number, self._title = steps, 0, "starting"
        self._lines: deque[str] = deque(maxlen=LINES)
        self._hint = ""
        self._picture = Picture()
        self._console = console or Console()
        self._live: Live | None = None

    def __enter__(self) -> "LiveView":
        from rich.live import Live

        self._live = Live(get_renderable=self.render, console=self._console, refresh_per_second=4)
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def begin(self, title: str) -> None:
        """The heading changes."""
        self._number += 1
        self._title = title
        self._lines.append(f"{self._number}/{self._steps} {title}")

    def say(self, text: str) -> None:
        """One more line under the picture."""
        self._lines.append(f"  {text}")

    def end(self, seconds: float) -> None:
        """How long it took."""
        self._lines.append(f"  done in {seconds:.1f} s")

    def draw(self, picture: Picture) -> None:
        """For the next drawing."""
        self._picture = picture

    def close(self, lines: Sequence[str]) -> None:
        """The table goes above the picture, where it stays."""
        self._title = "the end (Ctrl-C leaves)"
        self._lines.clear()
        for line in lines:
            self._console.print(line, markup=False, highlight=False)
        self._console.print()

    def hint(self, text: str) -> None:
        """A last line, to copy from: folded where all the others are cut."""
        self._hint = text

    def render(self) -> "RenderableType":
        """Everything from top to bottom."""
        from rich.console import Group
        from rich.text import Text

        now = self._picture
        operators = ", ".join(f"operator {number} {state}" for number, state in enumerate(now.operators, 1))
        head = f"Paceline  step {self._number}/{self._steps}: {self._title}"
        counts = f"{now.enqueued:,} jobs enqueued, {now.done:,} done   {operators}"
        above = 8 + len(now.groups) + len(now.runners)
        hint = [Text(self._hint, overflow="fold")] if self._hint else []
        above += sum(len(each.wrap(self._console, self._console.width)) for each in hint)
        lines = list(self._lines)[-max(LEAST, self._console.height - above) :]
        return Group(
            Text(head, style="bold"), Text(counts), Text(),
            _table(GROUP_TITLES, now.groups), Text(), _table(RUNNER_TITLES, now.runners), Text(),
            *(Text(line, no_wrap=True, overflow="ellipsis") for line in lines), *hint,
        )  # fmt: skip


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> "RenderableType":
    from rich.table import Table

    drawn = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for title in titles:
        drawn.add_column(title, no_wrap=True)
    for row in rows:
        drawn.add_row(*row)
    return drawn
