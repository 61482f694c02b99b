"""The form of a hot call, and of what it may touch."""

from collections.abc import Mapping
from dataclasses import dataclass

GROWING = frozenset(
    {"job", "history", "attempt", "dead", "key", "incarnation", "flow", "sample", "decision", "pool_sample"}
)
"""Tables that have a row for everything that happens. Nothing of them is touched that a call does not name, and no
sequential scan ever reads them."""

SMALL = 5_000
"""Rows of all other tables: those have 1,300 at most here, and a call may read one whole a few times."""


@dataclass(frozen=True)
class Hot:
    """One call on the seeded database."""

    name: str
    call: str
    most: Mapping[str, int]
    """Rows that it may touch of each growing table: at most two or three times as many as it needs."""
    why: str
    """What needs them."""
    answer: object
    """The first column of its first row, which tells that it did what it was called for."""
    args: str = ""
    """A query whose one row is the call's arguments."""
    given: tuple[str, ...] = ()
    """Statements before it, which do not count."""
