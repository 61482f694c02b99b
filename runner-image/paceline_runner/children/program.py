"""What a child is to become, and what the system says if it cannot."""

import errno
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from paceline_runner.children.errors import NotStartedError

HOPELESS: Final = frozenset(
    (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.ENOEXEC, errno.ELOOP,
     errno.ENAMETOOLONG, errno.E2BIG)
)  # fmt: skip
"""What will not be better the next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program and all that it is given."""

    argv: Sequence[str]
    env: Mapping[str, str]
    """All of its environment."""
    cwd: str | None = None
    stdin: bytes = b""
    channel: bool = False
    """Whether descriptor 3 is a socket to the runner."""

    def told(self) -> bytes:
        """How the new process is told, in bytes of the system that went through JSON."""
        for key, value in self.env.items():
            if not key or "=" in key or "\0" in key or "\0" in value:
                raise NotStartedError(
                    f'the environment of "{self.argv[0]}" has a variable {key!r} that no program can be given '
                    '(a name without "=", a value without NUL)',
                    hopeless=True,
                )
        try:
            told = {
                "argv": [_text(each) for each in self.argv],
                "env": {_text(key): _text(value) for key, value in self.env.items()},
                "cwd": _text(self.cwd or ""),
            }
        except UnicodeEncodeError as error:
            raise NotStartedError(
                f'program "{self.argv[0]!a}" cannot be started: {error.object!a} is no text of this system',
                hopeless=True,
            ) from None
        return json.dumps(told).encode()

    def refused(self, what: str, number: int) -> NotStartedError:
        """The error for what the new process said on its line."""
        hopeless, reason = number in HOPELESS, os.strerror(number)
        if what == "cwd":
            return NotStartedError(
                f'program "{self.argv[0]}" cannot be started in the folder "{self.cwd}": {reason}', hopeless=hopeless
            )
        hint = ""
        if number == errno.ENOENT:
            hint = " (not there, or not on its PATH, or the interpreter in its first line is not)"
        elif number in (errno.EACCES, errno.ENOEXEC):
            hint = " (it needs the x bit and, if it is a script, a first line like #!/bin/sh)"
        return NotStartedError(f'program "{self.argv[0]}" cannot be started: {reason}{hint}', hopeless=hopeless)


def _text(value: str) -> str:
    return os.fsencode(value).decode("latin-1")
