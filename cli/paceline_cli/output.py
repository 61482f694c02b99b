"""Answers: tables for people, JSON or YAML for programs, the same fields in all. Stdout has nothing else."""

import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from paceline.errors import InvalidInputError
from paceline_cli.options import Format

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

T = TypeVar("T")

STYLES: Final = {
    "ready": "green", "running": "cyan", "scheduled": "blue", "blocked": "yellow", "done": "green", "dead": "red",
    "failed": "red", "lost": "red", "cancelled": "yellow", "expired": "yellow", "paused": "yellow",
    "cancelling": "yellow", "stale": "red", "draining": "yellow", "active": "green",
}  # fmt: skip
UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
GAP: Final = 2
LEAST: Final = 8
"""Columns of a terminal between two cells, and the fewest that a cell is cut down to."""
UNBOUNDED: Final = 10_000
PIECE: Final = 32_768
"""Columns of what is no terminal: a line that is cut off there would be lost to grep."""


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column of a table: its title, and what it shows of a row."""

    title: str
    cell: Callable[[T], object]
    right: bool = False
    wide: bool = False
    """Shown with `-o wide` only."""
    flex: bool = False
    """Cut short where there is no room; others never are: half a number is a lie."""
    fold: bool = False
    """Broken into lines where there is no room."""


def span(seconds: float) -> str:
    """A time span in at most two units, the second one only while it matters: 42s, 3m5s, 12h, 2d4h."""
    if seconds < 1:
        return "0s" if seconds <= 0 else f"{seconds * 1000:.0f}ms"
    left = int(seconds)
    for place, (unit, size) in enumerate(UNITS):
        if left >= size:
            whole, rest = divmod(left, size)
            if whole < 10 and place + 1 < len(UNITS):
                smaller, lesser = UNITS[place + 1]
                return f"{whole}{unit}{rest // lesser}{smaller}" if rest >= lesser else f"{whole}{unit}"
            return f"{whole}{unit}"
    return "0s"


def ago(moment: datetime | None, now: datetime) -> str:
    """How long ago it was, or how soon it will be."""
    if moment is None:
        return "-"
    seconds = (now - moment).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"{span(seconds)} ago" if seconds > 0 else f"in {span(-seconds)}"


def number(value: float | None) -> str:
    """A limit as people read it."""
    return "none" if value is None else f"{value:,.10g}"


def plain(value: object) -> object:
    """A value as JSON knows it: times in ISO 8601, durations in seconds."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value.total_seconds() if isinstance(value, timedelta) else value


class Output:
    """Writes what a command has to say."""

    def __init__(self, form: Format) -> None:
        """Choose how."""
        self.form = form
        self._console: Console | None = None
        self._notes: Console | None = None

    @property
    def json(self) -> bool:
        """Whether a program reads it."""
        return self.form in (Format.JSON, Format.YAML)

    @property
    def console(self) -> "Console":
        """Stdout. Made when it is first needed: rich takes 50 ms to load."""
        if self._console is None:
            self._console = _console(stderr=False)
        return self._console

    @property
    def notes(self) -> "Console":
        """Stderr: progress, questions, what is not the answer."""
        if self._notes is None:
            self._notes = _console(stderr=True)
        return self._notes

    def note(self, text: str) -> None:
        """Say something beside the answer."""
        self.notes.print(text, markup=False, highlight=False, soft_wrap=True)

    def tell(self, value: object, text: str) -> None:
        """The answer in one sentence, or as JSON."""
        if self.json:
            self.write_json(value)
        else:
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def write_json(self, value: object, *, indent: int | None = 2) -> None:
        """One document: JSON, or YAML where that was asked for."""
        if self.form is Format.YAML:
            self.write(_yaml(plain(value)))
            return
        self.write(json.dumps(plain(value), indent=indent, ensure_ascii=False))

    def write(self, text: str) -> None:
        """A text as it is."""
        # in pieces: an unbuffered stdout, as most images have it, notices only at the next write that its reader left
        whole = text if text.endswith("\n") else f"{text}\n"
        for start in range(0, len(whole), PIECE):
            sys.stdout.write(whole[start : start + PIECE])

    def flush(self) -> None:
        """Let a reader at the other end of a pipe see it now."""
        sys.stdout.flush()

    def rows(self, rows: "Sequence[T]", columns: Sequence[Column[T]], *, none: str) -> None:
        """A list; `none` is said beside the answer when it is empty."""
        if self.json:
            self.write_json(rows)
        elif rows:
            self.draw_table(rows, columns)
        else:
            self.note(none)

    def table(self, rows: Sequence[T], columns: Sequence[Column[T]]) -> "RenderableType":
        """A table without lines, as kubectl draws it: the least ink, and easy to cut with awk."""
        from rich.table import Table

        shown = [column for column in columns if self.form is Format.WIDE or not column.wide]
        cells = [[_cell(column.cell(row)) for column in shown] for row in rows]
        natural = [
            max(len(column.title), *(_longest_line(cell) for cell in held))
            for column, held in zip(shown, zip(*cells, strict=True), strict=True)
        ]
        widths = fitting(natural, [column.flex or column.fold for column in shown], self._room())
        drawn = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
        for column, width in zip(shown, widths, strict=True):
            drawn.add_column(
                column.title.upper(),
                justify="right" if column.right else "left",
                no_wrap=not column.fold,
                overflow="fold" if column.fold else "ellipsis",
                width=width,
            )
        for line in cells:
            drawn.add_row(*line)
        return drawn

    def _room(self) -> int:
        return UNBOUNDED if self.form is Format.WIDE else self.console.width

    def facts(self, facts: Sequence[tuple[str, object]]) -> None:
        """One thing, a line for each fact; facts that are None are left out."""
        from rich.table import Table

        drawn = Table.grid(padding=(0, 3, 0, 0))
        drawn.add_column(style="bold", no_wrap=True)
        drawn.add_column(overflow="fold")
        for name, value in facts:
            if value is not None:
                drawn.add_row(name, _cell(value))
        self.draw(drawn)

    def draw(self, what: "RenderableType", *, width: int | None = None) -> None:
        """Put something on stdout, without the blanks that rich fills lines up with."""
        room = self.console.width
        self.console.width = width or room
        try:
            with self.console.capture() as taken:
                self.console.print(what)
        finally:
            self.console.width = room
        self.write("\n".join(line.rstrip() for line in taken.get().splitlines()))

    def draw_table(self, rows: Sequence[T], columns: Sequence[Column[T]]) -> None:
        """A table that has been fitted already: where even the least does not fit, the terminal may wrap it."""
        self.draw(self.table(rows, columns), width=UNBOUNDED)

    def heading(self, text: str) -> None:
        """Begin another part of the answer."""
        from rich.text import Text

        self.write("")
        self.draw(Text(text, style="bold"))


def _yaml(value: object) -> str:
    try:
        import yaml
    except ModuleNotFoundError:
        raise InvalidInputError(
            'YAML cannot be written here: use -o json, or pip install "paceline[operator]"'
        ) from None
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, explicit_start=True))


def fitting(natural: Sequence[int], flexible: Sequence[bool], room: int) -> list[int]:
    """Widths that fit into the room: the widest flexible column gives way first, the others never."""
    widths = [min(width, room) if soft else width for width, soft in zip(natural, flexible, strict=True)]
    soft = [place for place, each in enumerate(flexible) if each]
    while soft and sum(widths) + GAP * (len(widths) - 1) > room:
        widest = max(soft, key=lambda place: widths[place])
        if widths[widest] <= LEAST:
            break
        widths[widest] -= 1
    return widths


def _longest_line(cell: "Text") -> int:
    return max(line.cell_len for line in cell.split("\n", allow_blank=True))


def _cell(value: object) -> "Text":
    from rich.text import Text

    if isinstance(value, tuple):
        value = ",".join(map(str, value))
    text = "-" if value is None or value == "" else str(value)
    # control characters of a payload or an error must not reach the terminal; line breaks may
    clean = "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)
    return Text(clean, style=STYLES.get(clean.split(" ", 1)[0], ""))


def _console(*, stderr: bool) -> "Console":
    import os

    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # ends the command in one place, see run.py

    made = Pipe(stderr=stderr)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = UNBOUNDED
    return made
