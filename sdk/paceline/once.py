"""Enqueue for callers who may say the same thing twice, or who wait for the answer: what a gateway does for others."""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from paceline.database import Database
from paceline.job import NAME_LIMIT, Enqueued, JobId, NewJob, need
from paceline.queue import COLUMNS, TYPES, arrays

KEPT: Final = timedelta(hours=24)
"""So long the same key gives the same jobs."""
_ARGUMENTS = (f"{name} => ${n}::{kind}[]" for n, (name, kind) in enumerate(zip(COLUMNS, TYPES, strict=True), 6))
ENQUEUE_ONCE: Final = f"SELECT id, created FROM paceline.enqueue_once($1, $2, $3, $4, $5, {', '.join(_ARGUMENTS)})"  # noqa: S608 -- our own names


async def enqueue_once(
    database: Database, pool: str, jobs: Sequence[NewJob], *, key: str | None = None, request: bytes = b"",
    waits: Sequence[timedelta] | None = None,
) -> list[Enqueued]:  # fmt: skip
    """Put jobs in by one call, once for a key of the caller's.

    `request` is what the caller sent: the same key with another one is a `RequestMismatchError`. With `waits`, somebody
    waits so long for each of them: their ends are told, and then those that this call made are cancelled.
    """
    need(
        key is None or (0 < len(key) <= NAME_LIMIT and "\0" not in key),
        f"idempotency key must have 1 to {NAME_LIMIT} characters, no NUL",
    )
    rows = await database.rows(
        ENQUEUE_ONCE, key, hashlib.sha256(request).digest(), KEPT.total_seconds(),
        None if waits is None else [each.total_seconds() for each in waits], pool, *arrays(jobs),
    )  # fmt: skip
    return [Enqueued(JobId(row["id"]), row["created"]) for row in rows]
