"""The reader's side: what is in the queue, who works on it, what became of a job, and whether the database is well.

Every call asks one SQL function, which shows only pools that the login may read. Lists are newest first; the next page
is asked for with the last row of this one.
"""

import dataclasses
import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from paceline.database import Database
from paceline.job import JobId
from paceline.scaling import DecisionSeen, GroupFound
from paceline.seen import (
    Attempt,
    DeadJob,
    DeadPlace,
    FinishedJob,
    GroupSnapshot,
    Health,
    Holder,
    JobDetail,
    JobSeen,
    LiveState,
    PoolSeen,
    RunnerSeen,
    Unclaimable,
    read,
)

CAP = 10_000
"""Where counts end: more costs time, and says nothing new to whoever decides by it."""


class Reader:
    """Reads the queue of one database."""

    def __init__(self, database: Database) -> None:
        """Use a database that is open."""
        self._database = database

    async def snapshot(self, cap: int = CAP) -> list[GroupSnapshot]:
        """What scaling needs of every group; for an operator's or a gateway's login."""
        rows = await self._database.rows("SELECT * FROM paceline.snapshot($1)", cap)
        return [read(GroupSnapshot, row) for row in rows]

    async def set_revision(self, group: int, revision: str) -> None:
        """Say which revision the group's next runners will have: every kind counts as theirs until one registers."""
        await self._database.value("SELECT paceline.set_revision($1, $2)", group, revision)

    async def unclaimable(self, pool: str | None = None) -> list[Unclaimable]:
        """Ready jobs that nobody could claim, with the reason."""
        rows = await self._database.rows("SELECT * FROM paceline.unclaimable($1)", pool)
        return [read(Unclaimable, row) for row in rows]

    async def find_groups(self, group: str | None = None, install: str | None = None) -> list[GroupFound]:
        """Groups by a name, or namespace/name."""
        rows = await self._database.rows("SELECT * FROM paceline.find_groups($1, $2)", install, group)
        return [read(GroupFound, row) for row in rows]

    async def list_decisions(
        self, group: int, *, since: timedelta = timedelta(hours=1), most: int = 1000
    ) -> list[DecisionSeen]:
        """Why a group had the sizes that it had, the newest first; they are kept for a week."""
        rows = await self._database.rows("SELECT * FROM paceline.list_decisions($1, $2, $3)", group, since, most)
        return [read(DecisionSeen, row) for row in rows]

    async def list_arrivals(
        self, pool: str, since: datetime, until: datetime, most: int
    ) -> list[tuple[datetime, float]]:
        """When jobs came that are done by now, and how many seconds each took, the oldest first."""
        sql = "SELECT * FROM paceline.list_arrivals($1, $2, $3, $4)"
        return [(row[0], row[1]) for row in await self._database.rows(sql, pool, since, until, most)]

    async def list_pools(self, cap: int = CAP) -> list[PoolSeen]:
        """The pools that the login may read, by name."""
        return [read(PoolSeen, row) for row in await self._database.rows("SELECT * FROM paceline.list_pools($1)", cap)]

    async def list_runners(self, pool: str | None = None, group: str | None = None) -> list[RunnerSeen]:
        """Who is registered; `group` is a name, or namespace/name."""
        rows = await self._database.rows("SELECT * FROM paceline.list_runners($1, $2)", pool, group)
        return [read(RunnerSeen, row) for row in rows]

    async def list_jobs(
        self,
        pool: str | None = None,
        *,
        state: LiveState | None = None,
        kind: str | None = None,
        before: JobSeen | JobId | None = None,
        limit: int = 100,
    ) -> list[JobSeen]:
        """Live jobs; `before` is the last one of the page before, or its id."""
        rows = await self._database.rows(
            "SELECT * FROM paceline.list_jobs($1, $2, $3, $4, $5)",
            pool,
            state,
            kind,
            before.id if isinstance(before, JobSeen) else before,
            limit,
        )
        return [read(JobSeen, row) for row in rows]

    async def list_finished(
        self, pool: str | None = None, *, kind: str | None = None, before: JobId | None = None, limit: int = 100
    ) -> list[FinishedJob]:
        """Jobs that have ended and are not dead, the newest first; the newest 20,000 before `before` are looked at."""
        rows = await self._database.rows(
            "SELECT * FROM paceline.list_finished($1, $2, $3, $4)", pool, kind, before, limit
        )
        return [read(FinishedJob, row) for row in rows]

    async def list_dead(
        self,
        pool: str | None = None,
        *,
        kind: str | None = None,
        cause: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: DeadJob | DeadPlace | None = None,
        limit: int = 100,
    ) -> list[DeadJob]:
        """Dead letters, the latest death first; `before` is the last one of the page before, or its place."""
        rows = await self._database.rows(
            "SELECT * FROM paceline.list_dead($1, $2, $3, $4, $5, $6, $7)",
            pool,
            kind,
            cause,
            since,
            before.died_at if before else until,
            before and before.id,
            limit,
        )
        return [read(DeadJob, row) for row in rows]

    async def find_dead(self, jobs: Sequence[JobId], pool: str | None = None) -> list[JobId]:
        """Those of the jobs that are dead letters of a pool, or of any that the login may read."""
        return list(await self._database.value("SELECT paceline.find_dead($1, $2)", list(jobs), pool))

    async def job_detail(self, job: JobId) -> JobDetail | None:
        """A job wherever it is; None if there is none of that id that the login may read."""
        rows = await self._database.rows("SELECT * FROM paceline.job_detail($1)", job)
        return read(JobDetail, rows[0]) if rows else None

    async def job_attempts(self, job: JobId) -> list[Attempt]:
        """The attempts on record, newest first."""
        return [read(Attempt, row) for row in await self._database.rows("SELECT * FROM paceline.job_attempts($1)", job)]

    async def health(self, older_than: float = 10) -> Health:
        """How well the database is; what has held vacuum back for fewer seconds is not mentioned."""
        row = (await self._database.rows("SELECT * FROM paceline.health($1)", older_than))[0]
        names = {field.name for field in dataclasses.fields(Holder)}
        holders = (Holder(**{key: each[key] for key in names & each.keys()}) for each in json.loads(row["holders"]))
        return Health(**{**dict(row), "holders": tuple(holders)})
