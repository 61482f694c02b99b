"""A queue inside the process: what a test needs to see what its code enqueued, and to play the runner.

It keeps the promises of the real one (one suite, tests/conformance, runs on both) without a database: fences, priority,
dedupe, delays, keys, taints, tries and losses, dead letters. What it does not have it refuses: rate limits, leaders,
groups, logins, and jobs that commit with the caller's own data.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from pydantic import JsonValue

from paceline.errors import InvalidInputError, PacelineError
from paceline.job import Enqueued, JobId, NewJob
from paceline.testing.clock import Clock, real_clock
from paceline.testing.ledger import Row, State
from paceline.testing.roster import Memory

if TYPE_CHECKING:
    from paceline.database import Connection, Database
    from paceline.handlers import Jobs
    from paceline.testing.work_off import WorkedOff


class NotInMemoryError(PacelineError, NotImplementedError):
    """Something that only a real database can do."""

    def __init__(self, what: str) -> None:
        """Say what, and what to do."""
        super().__init__(f"{what}: not in the in-memory queue: use the real one (transactional_queue, PostgresServer)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryJob:
    """A job as it stands at one moment."""

    id: JobId
    kind: str
    payload: JsonValue
    state: State
    priority: int
    key: str | None
    tries: int
    losses: int
    run_at: datetime | None
    progress: JsonValue
    result: JsonValue
    """What its handler returned, once it is done."""
    cause: str | None
    """Why it is dead: `Failed`, `Poison`, or what the runner said."""
    error: str | None

    @classmethod
    def of(cls, row: Row) -> Self:
        """Look at a row."""
        return cls(
            id=row.id,
            kind=row.lane.kind,
            payload=json.loads(row.asked.body),
            state=row.state,
            priority=row.asked.priority,
            key=row.asked.key,
            tries=row.tries,
            losses=row.losses,
            run_at=row.run_at,
            progress=row.progress,
            result=None if row.result is None else json.loads(row.result),
            cause=row.cause,
            error=row.error,
        )


class MemoryQueue:
    """Jobs of one pool; a stand-in for `paceline.Queue`."""

    def __init__(self, pool: str = "default", *, clock: Clock = real_clock, seed: int = 0) -> None:
        """Make an empty one. `clock` says what time it is (see ManualClock).

        Among lanes of one priority the order is random, as it is in the database; the seed makes it repeatable.
        """
        self.pool = pool
        self.memory = Memory(clock, seed)

    def beside(self, pool: str) -> "MemoryQueue":
        """Another pool in the same memory, as two queues may share a database."""
        other = MemoryQueue(pool)
        other.memory = self.memory
        return other

    @property
    def database(self) -> "Database":
        """There is none."""
        raise NotInMemoryError("a database")

    async def close(self) -> None:
        """Let nobody use it any more; what is in it can still be looked at."""
        self.memory.closed = True

    async def enqueue(
        self, job: NewJob | str, payload: JsonValue = None, *, connection: "Connection | None" = None
    ) -> Enqueued:
        """Put one job in: `enqueue(NewJob(kind="mail", ...))`, or shortly `enqueue("mail", {...})`."""
        if isinstance(job, str):
            job = NewJob(kind=job, payload=payload)
        elif payload is not None:
            raise InvalidInputError("the payload is given twice (leave the second one out)")
        return (await self.enqueue_many([job], connection=connection))[0]

    async def enqueue_many(self, jobs: Sequence[NewJob], *, connection: "Connection | None" = None) -> list[Enqueued]:
        """Put many jobs in by one call: all of them or none."""
        if connection is not None:
            raise NotInMemoryError("a job that commits with the data of a connection")
        if not jobs:
            return []
        self.memory.require_open()
        self.memory.pool_for(self.pool)
        return self.memory.ledger.insert(self.pool, jobs)

    async def cancel(self, job: JobId) -> str:
        """Take a job out: `cancelled`, `cancelling` (it runs; its handler is told), `finished` or `unknown`."""
        self.memory.require_open()
        ledger = self.memory.ledger
        row = ledger.live.get(job)
        if row is None:
            return "finished" if job in ledger.gone else "unknown"
        if row.state == "running":
            row.cancel = True
            return "cancelling"
        ledger.finish(row, "cancelled")
        return "cancelled"

    async def retry(self, job: JobId) -> str:
        """Try a job again now: `retried`, or why not: `waiting`, `running`, `duplicate`, `finished` or `unknown`."""
        self.memory.require_open()
        ledger = self.memory.ledger
        row = ledger.live.get(job)
        if row is not None:
            if row.state == "scheduled":
                ledger.become_due([row])
                return "retried"
            return "running" if row.state == "running" else "waiting"
        if job in ledger.gone and ledger.gone[job].state == "dead":
            return "retried" if ledger.redrive(job) else "duplicate"
        return "finished" if job in ledger.gone else "unknown"

    async def redrive(self, jobs: Sequence[JobId]) -> list[JobId]:
        """Put dead letters back into the queue; those that went are returned."""
        self.memory.require_open()
        return [job for job in sorted(set(jobs)) if self.memory.ledger.redrive(job)]

    async def purge(self, jobs: Sequence[JobId]) -> list[JobId]:
        """Delete dead letters for good; those that went are returned."""
        self.memory.require_open()
        gone = self.memory.ledger.gone
        dead = [job for job in sorted(set(jobs)) if job in gone and gone[job].state == "dead"]
        for job in dead:
            del gone[job]
        return dead

    async def tick(self) -> bool:
        """Do the housekeeping; here it is always due, since it costs nobody anything."""
        self.memory.require_open()
        self.memory.tick()
        return True

    async def pause(self) -> None:
        """Let nobody claim from this pool."""
        self.memory.require_open()
        self.memory.pool_for(self.pool)
        self.memory.paused.add(self.pool)

    async def resume(self) -> None:
        """End a pause."""
        self.memory.require_open()
        self.memory.pool_for(self.pool)
        self.memory.paused.discard(self.pool)

    def state_of(self, job: JobId) -> State | None:
        """Where a job is, or None for one that was never there or has been purged."""
        row = self._row(job)
        return None if row is None else row.state

    def job(self, job: JobId) -> MemoryJob | None:
        """Everything about one job, of any pool."""
        row = self._row(job)
        return None if row is None else MemoryJob.of(row)

    def jobs(self, *states: State) -> list[MemoryJob]:
        """The jobs of this pool in these states (or in all), oldest first."""
        ledger = self.memory.ledger
        rows = sorted([*ledger.live.values(), *ledger.gone.values()], key=lambda row: row.id)
        return [MemoryJob.of(row) for row in rows if row.lane.pool == self.pool and (row.state in states or not states)]

    async def work_off(
        self, handlers: "Jobs", *, most: int = 10_000, outside: "Mapping[str, Callable[[JsonValue], Any]] | None" = None
    ) -> "WorkedOff":
        """Run the handler of every ready job here and now, until none is ready; see `work_off`."""
        from paceline.testing.work_off import work_off

        return await work_off(self, handlers, most=most, outside=outside or {})

    def _row(self, job: JobId) -> Row | None:
        return self.memory.ledger.live.get(job) or self.memory.ledger.gone.get(job)
