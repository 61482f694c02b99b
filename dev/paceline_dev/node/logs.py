"""Reading what containers wrote, in the form in which the cradle keeps it."""

import datetime
import itertools
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TAIL_LINES, TAIL_BYTES = 80, 2048
"""How much of a log becomes the message of a container that ended badly, as the kubelet limits it."""
_FRACTION = re.compile(r"\.(\d{1,6})\d*")


@dataclass(frozen=True, slots=True)
class Line:
    """One line, or a part of a long one."""

    at: str
    text: bytes
    whole: bool

    def shown(self, *, timestamps: bool) -> bytes:
        """As `kubectl logs` prints it."""
        end = b"\n" if self.whole else b""
        return (self.at.encode() + b" " if timestamps else b"") + self.text + end


@dataclass(frozen=True, slots=True)
class Query:
    """What part of a log somebody wants."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    since: datetime.datetime | None = None
    limit: int | None = None


def parse(line: bytes) -> Line:
    """One line of a log file."""
    at, _, tag, text = [*line.rstrip(b"\n").split(b" ", 3), b"", b"", b""][:4]
    return Line(at.decode(), text, tag != b"P")


def select(lines: Iterator[Line], query: Query) -> Iterator[Line]:
    """The lines that were asked for: first those since a moment, then the last of them."""
    if query.since:
        since = query.since
        lines = itertools.dropwhile(lambda line: moment_of(line) < since, lines)
    return iter(deque(lines, maxlen=query.tail)) if query.tail is not None else lines


def moment_of(line: Line) -> datetime.datetime:
    """When it was written; nanoseconds are more than Python reads."""
    return datetime.datetime.fromisoformat(_FRACTION.sub(r".\1", line.at))


def read(path: Path) -> list[Line]:
    """All lines of a file."""
    return [parse(line) for line in path.read_bytes().splitlines(keepends=True)]


def tail_message(path: Path) -> str:
    """The end of a log, for a container that says nothing else about its end."""
    try:
        lines = read(path)[-TAIL_LINES:]
    except OSError:
        return ""
    return b"".join(line.shown(timestamps=False) for line in lines)[-TAIL_BYTES:].decode(errors="replace")
