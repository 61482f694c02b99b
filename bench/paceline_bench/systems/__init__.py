"""The queues that are compared: how each is set up, filled and claimed from, and what it leaves behind."""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

PAYLOAD: Final = {"to": "you@example.org", "subject": "hello", "body": "x" * 28}
BODY: Final = json.dumps(PAYLOAD)
"""About 80 bytes, the same for everybody."""
CHUNK: Final = 1000
"""So many jobs are enqueued by one call."""
NOOP: Final = "noop"
"""The kind of most jobs; the other one is `stamp`, whose handler says when it began."""

Produce: TypeAlias = Callable[[int], Awaitable[object]]
"""Enqueues so many jobs by one call, or the nearest that the system has to it."""


class Claimer(Protocol):
    """One connection that claims, without a worker around it."""

    async def claim(self) -> int:
        """How many jobs it got."""

    async def finish(self) -> None:
        """They are done well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A queue in a database, used by the system's own means."""

    name: str
    table: str
    """Where a job's row is until it is finished."""
    install: Callable[[str], Awaitable[None]]
    """Make the schema in the database behind a URL."""
    producer: Callable[[str, str], AbstractAsyncContextManager[Produce]]
    """One connection that enqueues jobs of a kind."""
    claimer: Callable[[str, int], AbstractAsyncContextManager[Claimer]] | None = None
    """Claims at most so many at a time."""
    depth: Callable[[str], AbstractAsyncContextManager[Callable[[], Awaitable[object]]]] | None = None
    """How deep the queue is, as a scaler would ask."""
    done: str | None = None
    """A query that counts the jobs that were done well; None where finished rows leave no trace."""
    pending: str = "true"
    """Tells rows of unfinished jobs from the others, where those stay in the table."""
    order: str = "id"
    """A column that grows from job to job."""
    copied: Mapping[str, str] = field(default_factory=dict)
    """What a copy of a row must have of its own, besides what its column's default gives."""
    future: Mapping[str, str] = field(default_factory=dict)
    """What a row has that is due tomorrow, and would come first then."""

    async def prepare(self, url: str, jobs: int) -> None:
        """Make the schema and put so many no-op jobs in."""
        await self.install(url)
        async with self.producer(url, NOOP) as produce:
            for size in chunks(jobs):
                await produce(size)


def chunks(jobs: int) -> list[int]:
    """How many jobs to enqueue by each call."""
    return [min(CHUNK, jobs - begun) for begun in range(0, jobs, CHUNK)]
