"""What a producer hands in and what a runner gets."""

import json
import math
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple, NewType

from pydantic import JsonValue

from paceline.errors import InvalidInputError
from paceline.taint import canonical_list, canonical_toleration

JobId = NewType("JobId", int)
Fence = NewType("Fence", int)

PAYLOAD_LIMIT: Final = 2**20
OUTPUT_LIMIT: Final = 2**16
"""So many characters of an error or of an attempt's output are kept, the last ones."""
KIND = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.:/]{0,126}[A-Za-z0-9])?")
TAG = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
NAME_LIMIT: Final = 512
LONGEST: Final = timedelta(days=36_500)
LONGEST_TIMEOUT: Final = timedelta(days=24)
"""Kept in milliseconds in 32 bits."""
LARGEST: Final = 2**31 - 1
MOST_NESTED: Final = 200
"""Lists and objects within each other; pydantic writes 255, those around a payload among them."""

_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""An escaped NUL in JSON, not the six characters that look like one."""
_JSON: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to be enqueued; whatever is wrong with it is said when it is made."""

    kind: str
    payload: JsonValue = None
    priority: int = 5
    """0 to 9, higher first."""
    delay: timedelta | None = None
    """Not before this much time has passed, by the database's clock."""
    run_at: datetime | None = None
    expires_in: timedelta | None = None
    """Not to be started after this much time."""
    expires_at: datetime | None = None
    key: str | None = None
    """Jobs of one key run one at a time over all nodes, or as many as the key's limit says."""
    key_limit: int | None = None
    """Sets the key's limit; without it the key keeps the one it has (1 at first)."""
    dedupe: str | None = None
    """While a job of this kind with the same value is live, another is not made."""
    tags: tuple[str, ...] = ()
    tolerations: tuple[str, ...] = ()
    max_tries: int = 5
    max_losses: int = 3
    """How many runners may be lost under it before it is taken for poison."""
    timeout: timedelta | None = None
    trace: str | None = None
    """A W3C traceparent, handed on to the handler."""
    body: str = field(init=False, repr=False, compare=False)
    """The payload as JSON."""

    def __post_init__(self) -> None:
        """Check every field, and encode the payload once. Messages that nobody reads would take half of the time."""
        if not KIND.fullmatch(self.kind):
            raise InvalidInputError(f'kind "{self.kind}" is no name (at most 128 letters, digits, "-_.:/")')
        for name, number, least, most, more in (
            ("priority", self.priority, 0, 9, ", higher first"),
            ("max_tries", self.max_tries, 1, 32767, ""),
            ("max_losses", self.max_losses, 0, 32767, ""),
        ):
            if not isinstance(number, int):
                raise InvalidInputError(f"{name} {number} is not a whole number")
            if not least <= number <= most:
                raise InvalidInputError(f"{name} {number} is out of range ({least} to {most}{more})")
        need(self.delay is None or self.run_at is None, "delay and run_at exclude each other (give one)")
        need(self.expires_in is None or self.expires_at is None, "expires_in and expires_at exclude each other")
        for name, longest, span in (
            ("delay", LONGEST, self.delay),
            ("expires_in", LONGEST, self.expires_in),
            ("timeout", LONGEST_TIMEOUT, self.timeout),
        ):
            if span is not None:
                _check_span(name, longest, span)
        for name, moment in (("run_at", self.run_at), ("expires_at", self.expires_at)):
            if moment is not None and moment.tzinfo is None:
                raise InvalidInputError(f"{name} {moment} has no time zone (use an aware datetime)")
        if self.key_limit is not None:
            need(0 < self.key_limit <= LARGEST, f"key_limit {self.key_limit} is out of range (1 to {LARGEST})")
            need(self.key is not None, "key_limit is given without a key")
        for name, text in (("key", self.key), ("dedupe", self.dedupe), ("trace", self.trace)):
            if text is not None:
                _check_text(name, text)
        if self.tags or self.tolerations:
            self._check_lists()
        object.__setattr__(self, "body", encode(self.payload, "payload"))

    def _check_lists(self) -> None:
        for name, given in (("tags", self.tags), ("tolerations", self.tolerations)):
            need(not isinstance(given, str), f'{name} is the text "{given}" (give a tuple of texts)')
        for tag in self.tags:
            need(TAG.fullmatch(tag), f'tag "{tag}" is no name (at most 63 letters, digits, "-", "_", ".")')
        for toleration in self.tolerations:
            canonical_toleration(toleration)

    @property
    def tag_list(self) -> str:
        """The tags as the database compares them."""
        return canonical_list(self.tags)

    @property
    def toleration_list(self) -> str:
        """The tolerations as the database compares them."""
        return canonical_list(canonical_toleration(each) for each in self.tolerations)


@dataclass(frozen=True, slots=True)
class Enqueued:
    """Where a job went: its id, and whether it is new or one that was there already (dedupe)."""

    id: JobId
    created: bool


class Claimed(NamedTuple):
    """A job in a runner's hands. Its fence is good until the runner loses it; it grows with every claim.

    A named tuple: made 50,000 times a second, a frozen dataclass would cost 3 us more for each.
    """

    id: JobId
    fence: Fence
    kind: str
    body: str
    priority: int
    tries: int
    losses: int
    timeout_ms: int | None
    trace: str | None
    waited: float
    """Seconds from becoming ready to this claim."""

    @property
    def payload(self) -> JsonValue:
        """The payload, decoded."""
        decoded: JsonValue = json.loads(self.body)
        return decoded

    @property
    def timeout(self) -> timedelta | None:
        """How long this attempt may take."""
        return None if self.timeout_ms is None else timedelta(milliseconds=self.timeout_ms)


def encode(value: JsonValue, name: str, *, limit: int = PAYLOAD_LIMIT) -> str:
    """A value as JSON that PostgreSQL can store, or an error that says why not."""
    try:
        text = _JSON.encode(value)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} cannot be written as JSON: {error}") from None
    except RecursionError:
        raise InvalidInputError(f"{name} is nested too deeply (flatten it)") from None
    if "\\u0000" in text and _NUL.search(text):
        raise InvalidInputError(f"{name} contains a NUL character, which PostgreSQL cannot store in JSON (remove it)")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInputError(f"{name} contains a lone surrogate, which is no character (remove it)") from None
    if size > limit:
        raise InvalidInputError(
            f"{name} has {size} bytes, the limit is {limit}: store it elsewhere and send a reference"
        )
    return text


def decode(text: str) -> JsonValue:
    """JSON of PostgreSQL as a value that can be shown; what cannot stays the text that it is.

    PostgreSQL takes numbers of a hundred thousand digits and a nesting of thousands; Python and pydantic do not. Who
    lists jobs of many must not fail because one of them wrote such a thing.
    """
    try:
        value: JsonValue = _READER.decode(text)
    except (ValueError, RecursionError):
        return text
    return text if text.count("[") + text.count("{") > MOST_NESTED and _is_deep(value) else value


def _whole(digits: str) -> int | str:
    try:
        return int(digits)
    except ValueError:  # over 4,300 of them
        return digits


def _real(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits


_READER: Final = json.JSONDecoder(parse_int=_whole, parse_float=_real)


def _is_deep(value: JsonValue) -> bool:
    level: list[JsonValue] = [value]
    for _ in range(MOST_NESTED):
        level = [
            inner for each in level if isinstance(each, list | dict)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]  # fmt: skip
    return any(isinstance(each, list | dict) for each in level)


def storable(text: str | None) -> str | None:
    """The end of a text that a handler wrote, without what PostgreSQL cannot store: it must not cost the attempt."""
    if text is None:
        return None
    return text[-OUTPUT_LIMIT:].replace("\0", "\ufffd").encode(errors="replace").decode()


def _check_span(name: str, most: timedelta, span: timedelta) -> None:
    need(span <= most, f"{name} {span} is too long (at most {most.days} days)")
    need(span >= timedelta(0), f"{name} {span} is negative (leave it out, or give a positive one)")


def _check_text(name: str, text: str) -> None:
    need(0 < len(text) <= NAME_LIMIT, f"{name} must have 1 to {NAME_LIMIT} characters")
    need("\0" not in text, f"{name} contains a NUL character, which PostgreSQL cannot store")
    need(_encodable(text), f"{name} contains a lone surrogate, which is no character (remove it)")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def milliseconds(span: timedelta | None) -> int | None:
    """A time span as the database keeps it, never rounded down to nothing."""
    return None if span is None else math.ceil(span.total_seconds() * 1000)


def need(held: object, message: str) -> None:
    """Refuse what does not hold; the message names the field and the fix."""
    if not held:
        raise InvalidInputError(message)
