"""The doubles and the real queue behind one face, so that one suite can run on all of them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol, TypeAlias

from paceline.claims import Incarnation, Registration
from paceline.job import JobId
from paceline.queue import Queue
from paceline.taint import parse_taints
from paceline.testing import ManualClock, MemoryQueue, MemoryRunner

AnyQueue: TypeAlias = Queue | MemoryQueue
AnyRunner: TypeAlias = Incarnation | MemoryRunner
LEASE = timedelta(seconds=30)

DUE = "UPDATE paceline.tick SET next_at = '-infinity', mark_at = '-infinity', review_at = '-infinity'"
STATES = """
SELECT i.id,
       coalesce(
           (SELECT CASE j.state WHEN 's' THEN 'scheduled' WHEN 'b' THEN 'blocked' WHEN 'r' THEN 'ready'
                                WHEN 'x' THEN 'running' END FROM paceline.job j WHERE j.id = i.id),
           (SELECT CASE h.outcome WHEN 'd' THEN 'done' WHEN 'c' THEN 'cancelled' WHEN 'e' THEN 'expired' END
              FROM paceline.history h WHERE h.id = i.id),
           (SELECT 'dead' FROM paceline.dead d WHERE d.id = i.id)) AS state
  FROM unnest($1::bigint[]) i (id)"""
AGE = """
WITH jobs AS (
    UPDATE paceline.job SET run_at = run_at - $1::interval, expires_at = expires_at - $1::interval,
        ready_at = ready_at - $1::interval, claimed_at = claimed_at - $1::interval,
        enqueued_at = enqueued_at - $1::interval
), leases AS (
    UPDATE paceline.incarnation SET lease_until = lease_until - $1::interval
)
UPDATE paceline.tick SET release_low = '-infinity'"""  # a job that grows older by magic may fall below the mark
END_LEASE = "UPDATE paceline.incarnation SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1"
TAINT = "SELECT paceline.taint_runner($1, $2, $3, $4, $5)"


class Backend(Protocol):
    """A queue, runners for it, and power over time."""

    @property
    def queue(self) -> AnyQueue:
        """The pool `builds`."""

    def beside(self, pool: str) -> AnyQueue:
        """Another pool of the same database."""

    async def register(
        self,
        name: str = "r1",
        *,
        pool: str = "builds",
        kinds: tuple[str, ...] = ("*",),
        tags: tuple[str, ...] = (),
        lease: timedelta = LEASE,
    ) -> AnyRunner:
        """Register a runner; `kinds=("*",)` serves every kind."""

    async def tick(self) -> None:
        """All of the housekeeping, now."""

    async def expire_lease(self, runner: AnyRunner) -> None:
        """As if the runner had not been heard of for longer than its lease."""

    async def pass_time(self, by: timedelta) -> None:
        """As if everything that is stored were so much older."""

    async def taint(self, runner: AnyRunner, taints: str, source: str = "annotation") -> None:
        """Set the taints of a Runner from one source."""

    async def states_of(self, jobs: Sequence[JobId]) -> list[str | None]:
        """A word for each job, or None for one that is nowhere."""

    async def state_of(self, job: JobId) -> str | None:
        """The same for one."""


class MemoryBackend:
    """The double inside the process."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.queue = MemoryQueue("builds", clock=self.clock)

    def beside(self, pool: str) -> MemoryQueue:
        return self.queue.beside(pool)

    async def register(
        self,
        name: str = "r1",
        *,
        pool: str = "builds",
        kinds: tuple[str, ...] = ("*",),
        tags: tuple[str, ...] = (),
        lease: timedelta = LEASE,
    ) -> MemoryRunner:
        who = Registration(name=name, pool=pool, kinds=kinds, tags=tags, lease=lease)
        return await MemoryRunner.register(self.queue, who)

    async def tick(self) -> None:
        assert await self.queue.tick() is True

    async def expire_lease(self, runner: AnyRunner) -> None:
        assert isinstance(runner, MemoryRunner)
        runner._boot.lease_until = self.clock() - timedelta(seconds=1)

    async def pass_time(self, by: timedelta) -> None:
        self.clock.advance(by)

    async def taint(self, runner: AnyRunner, taints: str, source: str = "annotation") -> None:
        assert isinstance(runner, MemoryRunner)
        await runner.taint(taints, source)

    async def states_of(self, jobs: Sequence[JobId]) -> list[str | None]:
        return [self.queue.state_of(job) for job in jobs]

    async def state_of(self, job: JobId) -> str | None:
        return self.queue.state_of(job)


class SqlBackend:
    """The real queue, or the one inside a transaction, with the owner's login."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    def beside(self, pool: str) -> Queue:
        return Queue(self.queue.database, pool)

    async def register(
        self,
        name: str = "r1",
        *,
        pool: str = "builds",
        kinds: tuple[str, ...] = ("*",),
        tags: tuple[str, ...] = (),
        lease: timedelta = LEASE,
    ) -> Incarnation:
        who = Registration(name=name, pool=pool, kinds=kinds, tags=tags, lease=lease)
        return await Incarnation.register(self.queue.database, who)

    async def tick(self) -> None:
        await self.queue.database.value(DUE)
        assert await self.queue.tick() is True

    async def expire_lease(self, runner: AnyRunner) -> None:
        await self.queue.database.value(END_LEASE, runner.id)

    async def pass_time(self, by: timedelta) -> None:
        await self.queue.database.value(AGE, by)

    async def taint(self, runner: AnyRunner, taints: str, source: str = "annotation") -> None:
        parsed = parse_taints(taints)
        columns = [[getattr(taint, name) for taint in parsed] for name in ("key", "value", "effect")]
        await self.queue.database.value(TAINT, runner.runner, source, *columns)

    async def states_of(self, jobs: Sequence[JobId]) -> list[str | None]:
        found = {row["id"]: row["state"] for row in await self.queue.database.rows(STATES, list(jobs))}
        return [found[job] for job in jobs]

    async def state_of(self, job: JobId) -> str | None:
        return (await self.states_of([job]))[0]
