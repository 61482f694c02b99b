"""Runners that dial out, as a gateway sees them: it claims and writes for many of them over a few connections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, cast

from paceline.claims import IncarnationId, Verdict, claimed
from paceline.job import Claimed, Fence, JobId, storable

if TYPE_CHECKING:
    from paceline.database import Database, Record

CONFIRM: Final = timedelta(seconds=30)
"""So long a runner has to say that a run has reached it."""
RESUME: Final = timedelta(seconds=5)
"""So long one whose socket dropped has to come back."""
LOST: Final = "Undelivered"
"""Why a run goes back that was claimed for a runner which had just gone."""

Told = Verdict | Literal["moved", "lapsed"]
"""A verdict; or that another socket has the registration now, or that a run was not confirmed in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialled:
    """A registration of a runner that dialled, or one that it came back to."""

    incarnation: IncarnationId
    name: str
    pool: int
    pool_name: str
    draining: bool
    slots: int
    lease: timedelta
    session: int | None
    """The number of its socket; None for one that polls."""
    refused: frozenset[JobId] = frozenset()
    """Of the runs that it named when it came back: those that are not its own any more."""
    undelivered: int = 0
    """So many that it did not name went back."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a registration works, and how much; neither ever changes."""

    pool: int
    slots: int


@dataclass(frozen=True, slots=True)
class Connection:
    """One way on which a runner is reached now."""

    incarnation: IncarnationId
    session: int | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """What a claim for a runner brought."""

    incarnation: IncarnationId
    verdict: Told
    jobs: tuple[Claimed, ...] = ()
    cancelled: frozenset[JobId] = frozenset()


@dataclass(frozen=True, slots=True)
class Round:
    """What a claim for several brought."""

    offers: tuple[Offer, ...]
    """Of those that were looked at; the others would have found nothing either."""
    more: bool
    """There is work that none of these may do."""
    listening: bool
    """Whoever enqueued since before this claim has sent a NOTIFY; if not, look once more before you wait for one."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """One of a runner, with the runs that it has."""

    by: Connection
    runs: Mapping[JobId, Fence] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class News:
    """What a runner is to be told."""

    incarnation: IncarnationId
    verdict: Told
    cancelled: frozenset[JobId] = frozenset()
    cause: str | None = None
    leave: bool = False
    refused: frozenset[JobId] = frozenset()
    """Of the runs that it named: those that are not its own any more."""
    lease: timedelta | None = None


class Dialling:
    """The calls of a gateway."""

    def __init__(self, database: "Database") -> None:
        """Use a database that is open."""
        self._database = database

    # coming and going

    async def register(
        self, token: str, *, kinds: Sequence[str], tags: Sequence[str] = (), slots: int = 1, heartbeat: float = 10,
        hostname: str = "", revision: str | None = None, socket: bool = False,
    ) -> Dialled:  # fmt: skip
        """Become the current registration of the runner that a token is for."""
        (row,) = await self._database.rows(
            "SELECT * FROM paceline.dial($1, $2, $3, $4, $5, $6, $7, $8)",
            token, list(kinds), list(tags), slots, heartbeat, hostname, revision, socket,
        )  # fmt: skip
        return _dialled(row)

    async def resume(self, token: str, incarnation: int, runs: Mapping[JobId, Fence]) -> Dialled | None:
        """Let a new socket be the registration's, which has these runs; None if the registration has ended."""
        sql = "SELECT * FROM paceline.resume($1, $2, $3, $4)"
        rows = await self._database.rows(sql, token, incarnation, list(runs), list(runs.values()))
        return _dialled(rows[0]) if rows else None

    async def place(self, token: str, incarnation: int) -> Place:
        """Of a registration that came with this token; the error says that it did not."""
        (row,) = await self._database.rows("SELECT * FROM paceline.dialled($1, $2)", token, incarnation)
        return Place(row["pool"], row["slots"])

    async def drop(self, gone: Connection) -> bool:
        """Its socket has gone; whether it was the current one."""
        sql = "SELECT paceline.drop_dialled($1, $2, $3)"
        return bool(await self._database.value(sql, gone.incarnation, gone.session, RESUME.total_seconds()))

    async def drain(self, owner: IncarnationId) -> int:
        """Claim nothing any more; returns how many jobs are still held."""
        return int(await self._database.value("SELECT paceline.drain($1)", owner))

    async def deregister(self, owner: IncarnationId) -> int:
        """Leave; what is still held goes back without a charge, and its number is returned."""
        return int(await self._database.value("SELECT paceline.deregister($1)", owner))

    async def fence(self, owner: IncarnationId, cause: str) -> int:
        """End it as lost: what it holds is claimable with one loss charged, and its number is returned."""
        return int(await self._database.value("SELECT paceline.fence_incarnation($1, $2)", owner, cause))

    # for many at once

    async def offer(self, pool: int, wants: Mapping[Connection, int], *, listen: timedelta | None = None) -> Round:
        """Claim for several of a pool, the first ones first."""
        *rows, about = await self._database.rows(
            "SELECT * FROM paceline.offer($1, $2, $3, $4, $5, $6)", pool, [each.incarnation for each in wants],
            [each.session for each in wants], list(wants.values()), CONFIRM.total_seconds(),
            None if listen is None else listen.total_seconds(),
        )  # fmt: skip
        offers = (
            Offer(IncarnationId(row["incarnation"]), cast(Told, row["verdict"]), claimed(row), _ids(row["cancelled"]))
            for row in rows
        )
        return Round(tuple(offers), about["verdict"] == "more", bool(about["listening"]))

    async def beat(self, beats: Sequence[Heartbeat]) -> dict[Connection, News]:
        """Heartbeats of several; no two of one connection."""
        named = [(beat.by.incarnation, job, fence) for beat in beats for job, fence in beat.runs.items()]
        owners, jobs, fences = ([each[n] for each in named] for n in range(3))
        rows = await self._database.rows(
            "SELECT * FROM paceline.beat($1, $2, $3, $4, $5)", [beat.by.incarnation for beat in beats],
            [beat.by.session for beat in beats], owners, jobs, fences,
        )  # fmt: skip
        return {
            Connection(IncarnationId(row["incarnation"]), row["session"]): _news(row, beat=True)
            for row in rows
        }  # fmt: skip

    async def news(self, connections: Sequence[Connection]) -> list[News]:
        """Of those that have something to be told."""
        rows = await self._database.rows(
            "SELECT * FROM paceline.news($1, $2)", [each.incarnation for each in connections],
            [each.session for each in connections],
        )  # fmt: skip
        return [_news(row) for row in rows]

    async def take_unconfirmed(self) -> int:
        """How many runs nobody confirmed in time since anybody asked; each is told to one who asks."""
        return int(await self._database.value("SELECT paceline.take_unconfirmed()"))

    # what is said of a run; each says whether it counts, and shows that the run has arrived

    async def complete(
        self, owner: IncarnationId, job: JobId, fence: Fence, result: str | None, output: str | None
    ) -> bool:
        """It is done; its result as JSON."""
        sql = "SELECT paceline.complete($1, $2, $3, $4::jsonb, $5)"
        return bool(await self._database.value(sql, owner, job, fence, result, storable(output)))

    async def fail(
        self, owner: IncarnationId, job: JobId, fence: Fence, error: str, retry_in: timedelta | None, *,
        output: str | None = None, cause: str = "Failed",
    ) -> bool:  # fmt: skip
        """It failed; without `retry_in` it is dead at once."""
        return await self._said(
            "paceline.fail($1, $4, $5, $6, $7, $8, $9)", owner, job, fence, [storable(error)],
            [None if retry_in is None else retry_in.total_seconds()], cause, [storable(output)],
        )  # fmt: skip

    async def tries(self, owner: IncarnationId, job: JobId, fence: Fence) -> int | None:
        """How many tries of it have failed before; None: it is not the runner's any more."""
        found = await self._database.value("SELECT paceline.confirm($1, $2, $3)", owner, job, fence)
        return None if found is None else int(found)

    async def hand_back(self, owner: IncarnationId, job: JobId, fence: Fence) -> bool:
        """Somebody else shall do it, nothing charged."""
        return await self._said("paceline.hand_back($1, $4, $5)", owner, job, fence)

    async def extend(self, owner: IncarnationId, job: JobId, fence: Fence, by: timedelta) -> bool:
        """It may run until `by` from now."""
        return await self._said("paceline.extend($1, $4, $5, $6)", owner, job, fence, [by.total_seconds()])

    async def progress(self, owner: IncarnationId, job: JobId, fence: Fence, value: str) -> bool:
        """How far it is, as JSON."""
        return await self._said("paceline.set_progress($1, $4, $5, $6::jsonb[])", owner, job, fence, [value])

    async def log(self, owner: IncarnationId, job: JobId, fence: Fence, text: str) -> bool:
        """More of its output."""
        sql = "SELECT paceline.append_output($1, $2, $3, $4)"
        return bool(await self._database.value(sql, owner, job, fence, storable(text)))

    async def take_back(self, owner: IncarnationId, jobs: Sequence[Claimed]) -> None:
        """Runs that were claimed for somebody who has gone: others shall have them at once, nothing charged."""
        ids, fences = [job.id for job in jobs], [job.fence for job in jobs]
        await self._database.value("SELECT paceline.hand_back($1, $2, $3, $4)", owner, ids, fences, LOST)

    async def _said(self, call: str, owner: IncarnationId, job: JobId, fence: Fence, *args: object) -> bool:
        """Calls that take arrays, and answer with what they refuse."""
        sql = f"SELECT paceline.confirm($1, $2, $3), {call} AS refused"
        (row,) = await self._database.rows(sql, owner, job, fence, [job], [fence], *args)
        return row["refused"] is None


def _ids(found: Sequence[int] | None) -> frozenset[JobId]:
    return frozenset(JobId(each) for each in found or ())


def _dialled(row: "Record") -> Dialled:
    return Dialled(
        incarnation=IncarnationId(row["incarnation"]), name=row["name"], pool=row["pool"], pool_name=row["pool_name"],
        draining=row["state"] == b"d", slots=row["slots"], lease=timedelta(seconds=row["lease"]),
        session=row["session"], refused=_ids(row["refused"]), undelivered=row["undelivered"],
    )  # fmt: skip


def _news(row: "Record", *, beat: bool = False) -> News:
    return News(
        IncarnationId(row["incarnation"]), cast(Told, row["verdict"]), _ids(row["cancelled"]), row["cause"],
        bool(row["leave"]), _ids(row["refused"]) if beat else frozenset(),
        timedelta(seconds=row["lease"]) if beat and row["lease"] is not None else None,
    )  # fmt: skip
