"""The producer's side: put jobs in, follow them, take them out again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Self

from pydantic import JsonValue

from paceline.database import Database, in_our_words
from paceline.errors import InvalidInputError
from paceline.job import Enqueued, JobId, NewJob, milliseconds

if TYPE_CHECKING:
    from paceline.database import Connection

COLUMNS: Final = (
    "p_kind", "p_payload", "p_priority", "p_run_at", "p_delay", "p_expires_at", "p_ttl", "p_key", "p_key_limit",
    "p_dedupe", "p_tags", "p_tolerations", "p_max_tries", "p_max_losses", "p_timeout_ms", "p_trace",
)  # fmt: skip
TYPES: Final = (
    "text", "jsonb", "smallint", "timestamptz", "float8", "timestamptz", "float8", "text", "integer",
    "text", "text", "text", "smallint", "smallint", "integer", "text",
)  # fmt: skip
DEFAULTS: Final = (None, None, 5, None, None, None, None, None, None, None, None, None, 5, 3, None, None)
"""What the database takes where it is told nothing: three arrays less, of 10,000 numbers each, for most batches."""
_ARGUMENTS = (f"{name} => ${n}::{kind}[]" for n, (name, kind) in enumerate(zip(COLUMNS, TYPES, strict=True), 2))
ENQUEUE: Final = f"SELECT id, created FROM paceline.enqueue($1, {', '.join(_ARGUMENTS)})"  # noqa: S608 -- our own names


class Queue:
    """Jobs of one pool."""

    def __init__(self, database: Database, pool: str = "default") -> None:
        """Use a database that is open; `connect` opens one."""
        self.database = database
        self.pool = pool

    @classmethod
    async def connect(cls, url: str, pool: str = "default", *, connections: int = 4) -> Self:
        """Open the database behind `url`."""
        return cls(await Database.open(url, size=connections), pool)

    async def close(self) -> None:
        """Close the connections."""
        await self.database.close()

    async def enqueue(
        self, job: NewJob | str, payload: JsonValue = None, *, connection: "Connection | None" = None
    ) -> Enqueued:
        """Put one job in: `enqueue(NewJob(kind="mail", ...))`, or shortly `enqueue("mail", {...})`."""
        return (await self.enqueue_many([_job(job, payload)], connection=connection))[0]

    async def enqueue_many(self, jobs: Sequence[NewJob], *, connection: "Connection | None" = None) -> list[Enqueued]:
        """Put many jobs in by one call: all of them or none.

        With the caller's own connection they commit with the caller's data, or not at all.
        """
        if not jobs:
            return []
        arguments = (self.pool, *arrays(jobs))
        if connection is not None:
            with in_our_words(self.database.address):
                rows = await connection.fetch(ENQUEUE, *arguments)
        else:
            rows = await self.database.rows(ENQUEUE, *arguments)
        return [Enqueued(JobId(row["id"]), row["created"]) for row in rows]

    async def cancel(self, job: JobId) -> str:
        """Take a job out: `cancelled`, `cancelling` (it runs; its handler is told), `finished` or `unknown`."""
        return str(await self.database.value("SELECT paceline.cancel($1)", job))

    async def retry(self, job: JobId) -> str:
        """Try a job again now: a dead one, or one that waits for its next try or its time.

        The answer is `retried`, or why not: `waiting`, `running`, `duplicate`, `finished` or `unknown`.
        """
        return str(await self.database.value("SELECT paceline.retry($1)", job))

    async def redrive(self, jobs: Sequence[JobId]) -> list[JobId]:
        """Put dead letters back into the queue; those that went are returned."""
        return list(await self.database.value("SELECT paceline.redrive($1)", list(jobs)))

    async def purge(self, jobs: Sequence[JobId]) -> list[JobId]:
        """Delete dead letters for good; those that went are returned."""
        return list(await self.database.value("SELECT paceline.purge($1)", list(jobs)))

    async def tick(self) -> bool:
        """Do the housekeeping if it is due (whether it was), and fire cron.

        Runners, gateways and operators do it by themselves; a program of your own never needs to.
        """
        from paceline.cron import Cron

        due = bool(await self.database.value("SELECT paceline.tick()"))
        await Cron.fire_due(self.database)
        return due

    async def pause(self) -> None:
        """Let nobody claim from this pool."""
        await self.database.value("SELECT paceline.set_pool($1, p_paused => true)", self.pool)

    async def resume(self) -> None:
        """End a pause."""
        await self.database.value("SELECT paceline.set_pool($1, p_paused => false)", self.pool)


def _job(job: NewJob | str, payload: JsonValue) -> NewJob:
    if isinstance(job, str):
        return NewJob(kind=job, payload=payload)
    if payload is not None:
        raise InvalidInputError("the payload is given twice (leave the second one out)")
    return job


def arrays(jobs: Sequence[NewJob]) -> list[list[object] | None]:
    """One array for each column, in the order of COLUMNS; None where no job says anything but what holds anyway."""
    columns: list[list[object]] = [
        [job.kind for job in jobs],
        [job.body for job in jobs],
        [job.priority for job in jobs],
        [job.run_at for job in jobs],
        [job.delay.total_seconds() if job.delay else None for job in jobs],
        [job.expires_at for job in jobs],
        [job.expires_in.total_seconds() if job.expires_in is not None else None for job in jobs],
        [job.key for job in jobs],
        [job.key_limit for job in jobs],
        [job.dedupe for job in jobs],
        [job.tag_list or None for job in jobs],
        [job.toleration_list or None for job in jobs],
        [job.max_tries for job in jobs],
        [job.max_losses for job in jobs],
        [milliseconds(job.timeout) for job in jobs],
        [job.trace for job in jobs],
    ]
    return [
        None if all(value is None or value == default for value in column) else column
        for column, default in zip(columns, DEFAULTS, strict=True)
    ]
