"""Work that is not a Python function: a command, or a server beside the runner. Values; the runner does the work."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Literal
from urllib.parse import urlsplit

from paceline.job import need

GRACE: Final = timedelta(seconds=5)
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SPACE: Final = re.compile(r"[\x00-\x20\x7f]")
_NO_TEXTS: Final = 'must be a list of texts without NUL characters, not empty (like ["convert", "-"])'
_PLACE: Final = 80
"""So many characters of a command are shown."""

ResultForm = Literal["json", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program: the payload on stdin, the result on stdout, the exit code says whether it is done.

    What it writes to stderr is kept with the attempt. Exit code 65 means that another try is pointless.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Added to the runner's own environment."""
    cwd: str | None = None
    result: ResultForm = "json"
    grace: timedelta = GRACE
    """How long it may go on after SIGTERM before its process group is killed."""

    def __post_init__(self) -> None:
        """Check every field."""
        given: object = self.argv  # whatever the annotation says
        need(not isinstance(given, str), f'command "{given}" is one text (give a list: ["convert", "-"])')
        need(isinstance(given, tuple) and given and all(map(_is_text, given)), f"command {_NO_TEXTS}")
        need(self.argv[0], "command begins with an empty text (the first one is the program)")
        need(self.cwd is None or (self.cwd and _is_text(self.cwd)), "cwd is no folder (name one, or leave it out)")
        for name, value in self.env.items():
            need(_is_text(name) and name and "=" not in name, f'env has a name "{name}" (one without "=", not empty)')
            need(_is_text(value), f'env "{name}" must be a text without NUL characters')
        need(self.result in ("json", "text"), f'result "{self.result}" is unknown (use json or text)')
        need(self.grace >= timedelta(0), f"grace {self.grace} is negative (give a positive one)")

    @property
    def place(self) -> str:
        """What does the work, for people."""
        line = shlex.join(self.argv)
        return f'command "{line if len(line) <= _PLACE else line[:_PLACE] + "..."}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Http:
    """A server, usually a sidecar: the payload is POSTed, the answer is the result, the status says how it went."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Check every field. A password is not repeated."""
        need("@" not in self.place, 'url has an "@" (a login belongs into headers; in a path write %40)')
        need(_is_url(self.url), f'url "{self.url}" is none (write it like http://127.0.0.1:9000/thumbs)')
        for name, value in self.headers.items():
            need(_is_text(name) and _HEADER.fullmatch(name), f'headers has a name "{name}" (letters, digits and "-")')
            need(_is_text(value) and not _CONTROL.search(value), f'header "{name}" must be a text of one line')

    @property
    def place(self) -> str:
        """What does the work, for people; what stands after "?" may be secret."""
        return f'http "{self.url.partition("?")[0]}"'


Outside = Command | Http


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and not _SPACE.search(text)
        )
    except ValueError:  # a port that is no number, half an IPv6 address
        return False


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value
