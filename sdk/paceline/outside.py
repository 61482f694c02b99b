"""Work that is not a Python function: a command, or a server beside the runner. Values; the runner does the work."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Literal
from urllib.parse import urlsplit

from paceline.job import need

GRACE: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program: the payload on stdin, the result on stdout, the exit code says whether it is done.

    What it writes to stderr is kept with the attempt. Exit code 65 means that another try is pointless.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the runner's own environment."""
    cwd: str | None = None
    result: Literal["json", "text"] = "json"
    grace: timedelta = GRACE
    """How long it may go on after SIGTERM before its process group is killed."""

    def __post_init__(self) -> None:
        """Check every field."""
        need(not isinstance(self.argv, str), f'command "{self.argv}" is one text (give a list: ["convert", "-"])')
        need(
            self.argv and all(isinstance(each, str) for each in self.argv), "command must be a list of texts, not empty"
        )
        need(not any("\0" in each for each in self.argv), "command contains a NUL character (remove it)")
        need(self.result in ("json", "text"), f'result "{self.result}" is unknown (use json or text)')
        need(self.grace >= timedelta(0), f"grace {self.grace} is negative (give a positive one)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Http:
    """A server, usually a sidecar: the payload is POSTed, the answer is the result, the status says how it went."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every field."""
        parts = urlsplit(self.url)
        need(
            parts.scheme in ("http", "https") and parts.hostname,
            f'url "{self.url}" is none (write it like http://127.0.0.1:9000/thumbs)',
        )


Outside = Command | Http
