"""The runner's side: register, keep the lease, claim, and say what became of each job."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, NewType, Self, cast

from pydantic import JsonValue

from paceline.job import LONGEST, Claimed, Fence, JobId, encode, need, storable
from paceline.taint import parse_taints, taint_columns

if TYPE_CHECKING:
    from paceline.database import Database, Record
    from paceline.line import Line

IncarnationId = NewType("IncarnationId", int)
Verdict = Literal["ok", "draining", "paused", "standby", "fenced"]

STEP: Final = "SELECT * FROM paceline.step($1, $2, $3, $4, $5::jsonb[], $6, $7)"
PROGRESS_LIMIT: Final = 2**16
_NEW: Final = partial(tuple.__new__, Claimed)
"""As `Claimed._make` does it, in a third of the time."""
REGISTER: Final = """\
SELECT * FROM paceline.register($1, $2, $3, p_tags => $4, p_slots => $5, p_lease => $6, p_install => $7,
    p_namespace => $8, p_group => $9, p_external => $10, p_hostname => $11, p_pod_uid => $12, p_revision => $13)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Who a runner is, and what it can do."""

    name: str
    pool: str
    kinds: tuple[str, ...]
    """Kinds that it has a handler for; `*` alone means every kind."""
    tags: tuple[str, ...] = ()
    slots: int = 1
    lease: timedelta = timedelta(seconds=30)
    install: str | None = None
    """Which operator's group it is; None where there is only one of that name."""
    namespace: str = ""
    group: str | None = None
    """None: there is no operator, and the pool is its own group."""
    external: bool = True
    hostname: str = ""
    pod_uid: str | None = None
    revision: str | None = None


class Run(NamedTuple):
    """A claim of a job, by which everything that is said of it is checked."""

    id: JobId
    fence: Fence


class Finished(NamedTuple):
    """A job that was done, its result as JSON, and what its handler wrote meanwhile.

    A tuple, as `Claimed` is: one of each is made for every job, and a frozen dataclass takes three times as long.
    """

    job: Claimed
    result: str | None = None
    output: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A job that was not done; without `retry_in` it is dead at once."""

    job: Claimed
    error: str
    retry_in: timedelta | None = None
    output: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What one round trip brought."""

    verdict: Verdict
    jobs: tuple[Claimed, ...] = ()
    refused: frozenset[JobId] = frozenset()
    """Jobs that were not ours any more: somebody else has them, our result counts for nothing."""
    cancelled: frozenset[JobId] = frozenset()
    listening: bool = False
    """Whoever enqueued since before this step has sent a NOTIFY; if not, look once more before you sleep."""
    runners: int = 1
    """How many serve the pool, as last counted: the more, the more seldom each needs to look."""


@dataclass(frozen=True, slots=True)
class Beat:
    """The answer to a heartbeat."""

    verdict: Verdict
    cancelled: frozenset[JobId] = frozenset()
    cause: str | None = None
    """Who ended it, if it is fenced: Replaced, LeaseExpired, Revoked, GroupDeleted, or what an operator said."""
    leave: bool = False
    """It drains because of a taint: what is unfinished at the drain's timeout goes back."""
    held: int = 0
    """How many jobs it has, as the database sees it."""
    refused: frozenset[Run] = frozenset()
    """Jobs that it has named and that are not its own any more. Only a gateway is told names."""


class Incarnation:
    """One registration of a runner. Every write carries its id and the job's fence."""

    def __init__(self, database: "Database | Line", row: "Record") -> None:
        """Wrap what `register` answered."""
        self._database = database
        self.id = IncarnationId(row["incarnation"])
        self.runner: int = row["runner"]
        self.group: int = row["grp"]
        self.pool: int = row["pool"]
        self.pool_name: str = row["pool_name"]
        """A group's pool need not have been named."""
        self.channel = f"paceline_{self.pool}"
        """Where a NOTIFY wakes those who listen."""
        self.draining: bool = row["state"] == b"d"
        self.lease_until: datetime = row["lease_until"]

    @classmethod
    async def register(cls, database: "Database", who: Registration) -> Self:
        """Become the current incarnation of a Runner; a live predecessor is fenced."""
        rows = await database.rows(
            REGISTER, who.name, who.pool, list(who.kinds), list(who.tags), who.slots, who.lease.total_seconds(),
            who.install, who.namespace, who.group, who.external, who.hostname, who.pod_uid, who.revision,
        )  # fmt: skip
        return cls(database, rows[0])

    async def step(self, want: int, done: Sequence[Finished] = (), *, listen: timedelta | None = None) -> Step:
        """Ack what is done and claim at most `want` jobs, in one round trip.

        `listen`: where there are fewer, a NOTIFY on `channel` tells for so long that there is more.
        """
        rows = await self._database.rows(
            STEP,
            self.id,
            want,
            [each.job.id for each in done],
            [each.job.fence for each in done],
            [each.result for each in done] if any(each.result is not None for each in done) else None,
            [storable(each.output) for each in done] if any(each.output for each in done) else None,
            None if listen is None else listen.total_seconds(),
        )
        answer = rows[0]
        return Step(
            verdict=cast(Verdict, answer["verdict"]),
            jobs=claimed(answer),
            refused=frozenset(JobId(job) for job in answer["refused"] or ()),
            cancelled=frozenset(JobId(job) for job in answer["cancelled"] or ()),
            listening=bool(answer["listening"]),
            runners=answer["runners"] or 1,
        )

    async def fail(self, failed: Sequence[Failed], cause: str = "Failed") -> frozenset[JobId]:
        """Say which attempts failed; returns the jobs that were not ours any more."""
        refused = await self._database.value(
            "SELECT paceline.fail($1, $2, $3, $4, $5, $6, $7)",
            self.id,
            [each.job.id for each in failed],
            [each.job.fence for each in failed],
            [storable(each.error) for each in failed],
            [None if each.retry_in is None else each.retry_in.total_seconds() for each in failed],
            cause,
            [storable(each.output) for each in failed],
        )
        return frozenset(JobId(job) for job in refused or ())

    async def hand_back(self, jobs: Sequence[Claimed], cause: str = "HandedBack") -> frozenset[JobId]:
        """Give unfinished jobs back, nothing charged; returns those that were not ours any more."""
        return await self.return_claims({job.id: job.fence for job in jobs}, cause)

    async def return_claims(self, claims: Mapping[JobId, Fence], cause: str) -> frozenset[JobId]:
        """The same where nothing but id and fence is known."""
        refused = await self._database.value(
            "SELECT paceline.hand_back($1, $2, $3, $4)", self.id, list(claims), list(claims.values()), cause
        )
        return frozenset(JobId(job) for job in refused or ())

    def over(self, database: "Database | Line") -> "Incarnation":
        """The same registration by another connection."""
        other = copy.copy(self)
        other._database = database
        return other

    async def extend(self, job: Claimed, by: timedelta) -> bool:
        """Let an attempt run until `by` from now; whether it is still ours."""
        need(timedelta(0) < by <= LONGEST, f"by {by} is out of range (more than nothing, at most {LONGEST.days} days)")
        return await self._still_mine("paceline.extend($1, $2, $3, $4)", job, by.total_seconds())

    async def progress(self, job: Claimed, value: JsonValue) -> bool:
        """Tell those who watch how far an attempt is; whether it is still ours."""
        text = encode(value, "progress", limit=PROGRESS_LIMIT)
        return await self._still_mine("paceline.set_progress($1, $2, $3, $4::jsonb[])", job, text)

    async def _still_mine(self, call: str, job: Claimed, value: object) -> bool:
        refused = await self._database.value(f"SELECT {call}", self.id, [job.id], [job.fence], [value])
        return refused is None

    async def taint(self, taints: str, source: str = "cli") -> None:
        """Set the Runner's taints from one source, as in `gpu=bad:NoClaim,maint:Drain`; they survive its restarts."""
        columns = taint_columns(parse_taints(taints))
        await self._database.value("SELECT paceline.taint_runner($1, $2, $3, $4, $5)", self.runner, source, *columns)

    async def heartbeat(self) -> Beat:
        """Keep the lease; a lease that has ended is not revived."""
        row = (await self._database.rows("SELECT * FROM paceline.heartbeat($1)", self.id))[0]
        return Beat(
            cast(Verdict, row["verdict"]),
            frozenset(JobId(job) for job in row["cancelled"] or ()),
            row["cause"],
            row["leave"],
            row["held"],
        )

    async def held(self) -> dict[JobId, Fence]:
        """What the database thinks that we hold, once every claim of ours in flight is over."""
        rows = await self._database.rows("SELECT * FROM paceline.held($1)", self.id)
        return {JobId(row["id"]): Fence(row["fence"]) for row in rows}

    async def drain(self) -> int:
        """Claim nothing any more; returns how many jobs are still held."""
        return int(await self._database.value("SELECT paceline.drain($1)", self.id))

    async def fence(self, cause: str) -> int:
        """End it as lost: what it holds is claimable with one loss charged, and its number is returned."""
        return int(await self._database.value("SELECT paceline.fence_incarnation($1, $2)", self.id, cause))

    async def deregister(self) -> int:
        """Leave; what is still held goes back without a charge, and its number is returned."""
        return int(await self._database.value("SELECT paceline.deregister($1)", self.id))


def claimed(answer: "Record") -> tuple[Claimed, ...]:
    """The jobs in the arrays of an answer to a claim."""
    ids = answer["ids"]
    if ids is None:
        return ()
    nothing = repeat(None)
    columns = zip(
        ids,
        repeat(answer["fence"]),
        answer["kinds"],
        answer["payloads"],
        answer["priorities"],
        answer["tries"],
        answer["losses"],
        answer["timeouts_ms"] or nothing,
        answer["traces"] or nothing,
        answer["waited"],
        strict=False,
    )
    return tuple(map(_NEW, columns))
