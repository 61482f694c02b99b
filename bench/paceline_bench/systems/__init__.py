"""The queues that are compared: how each is set up and filled, and what it leaves behind."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

PAYLOAD: Final = {"to": "you@example.org", "subject": "hello", "body": "x" * 28}
BODY: Final = json.dumps(PAYLOAD)
"""About 80 bytes, the same for everybody."""
CHUNK: Final = 1000
"""So many jobs are enqueued by one call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A queue in a database."""

    name: str
    table: str
    """Where a job's row is until it is finished; it has a column id that grows."""
    prepare: Callable[[str, int], Awaitable[None]]
    """Make the schema in the database behind a URL, and put so many no-op jobs in, by the system's own means."""
    done: str | None = None
    """A query that counts the jobs that were done well; None where finished rows leave no trace."""


def chunks(jobs: int) -> list[int]:
    """How many jobs to enqueue by each call."""
    return [min(CHUNK, jobs - begun) for begun in range(0, jobs, CHUNK)]
