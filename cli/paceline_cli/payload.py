"""Payloads from the command line, a file or stdin, and errors that show how a shell wants them."""

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from paceline.errors import InvalidInputError

if TYPE_CHECKING:
    from pydantic import JsonValue

STDIN: Final = "-"
SHOWN: Final = 60
EXAMPLE: Final = """'{"to": "ann"}'"""


def read_payload(text: str | None, file: Path | None, usage: str) -> "JsonValue":
    """The payload from wherever it was given; none at all is null. `usage` is the command up to the payload."""
    if text is not None and file is not None:
        raise typer.BadParameter("the payload is given twice (leave PAYLOAD or the file out)", param_hint="'PAYLOAD'")
    if file is not None and str(file) != STDIN:
        return decode(read_text(file), f"the payload in {file}", "correct the file")
    if text == STDIN or file is not None:
        return decode(sys.stdin.read(), "the payload on stdin", f"send JSON, as in echo {EXAMPLE} | {usage} -")
    return None if text is None else decode(text, f"payload {shortened(text)}", f"run {usage} {_as_json(text)}")


def read_text(file: Path) -> str:
    """A text file, or an error that names it."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def read_lines(file: Path) -> Iterator[str]:
    """The lines of a file or of stdin, one after the other: there may be millions."""
    if str(file) == STDIN:
        yield from sys.stdin
        return
    try:
        with file.open(encoding="utf-8") as lines:
            yield from lines
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def decode(text: str, what: str, fix: str) -> "JsonValue":
    """JSON, or an error that names what is none and what to do."""
    try:
        decoded: JsonValue = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}" if "\n" in text.strip() else f"column {error.colno}"
        raise InvalidInputError(f"{what} is not JSON ({error.msg.lower()} at {place}): {fix}") from None
    except RecursionError:
        raise InvalidInputError(f"{what} is nested too deeply (flatten it)") from None
    return decoded


def shortened(text: str) -> str:
    """A text that fits into a message."""
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _as_json(text: str) -> str:
    """What was probably meant: an object whose quotes the shell has eaten, else a text."""
    return EXAMPLE if text.lstrip()[:1] in "{[" or len(text) > SHOWN else shlex.quote(json.dumps(text))
