"""Jobs by the clock: no leader, each tick exactly once, the latest missed one after downtime."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from paceline.database import Database
from paceline.errors import PacelineError
from paceline.job import KIND, Enqueued, JobId, NewJob, decode, milliseconds, need
from paceline.schedule import ANY_MOMENT, latest_missed, next_after

Overlap = Literal["allow", "skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CronEntry:
    """A job, and when it is made; whatever is wrong with it is said here, before anything is written."""

    name: str
    schedule: str
    job: NewJob
    timezone: str = "UTC"
    overlap: Overlap = "allow"
    """`skip`: a tick makes no job while the one of an earlier tick is live (by the dedupe key `cron:NAME`)."""
    stamp: str | None = None
    """A key of the payload that gets the tick's own moment (UTC, ISO 8601), which the handler cannot know otherwise:
    after downtime the job runs long after it."""

    def __post_init__(self) -> None:
        """Check every field."""
        job = self.job
        need(KIND.fullmatch(self.name), f'name "{self.name}" is no name (at most 128 letters, digits, "-_.:/")')
        next_after(self.schedule, self.timezone, ANY_MOMENT)
        need(self.overlap in ("allow", "skip"), f'overlap "{self.overlap}" is unknown (use allow or skip)')
        for name, given in (("run_at", job.run_at), ("expires_at", job.expires_at)):
            need(given is None, f"job.{name} is one moment, a cron job is made at many (use delay or expires_in)")
        need(job.trace is None, "job.trace cannot be kept: a cron job belongs to no request (leave it out)")
        need(
            self.overlap == "allow" or job.dedupe is None,
            'job.dedupe and overlap="skip" exclude each other (skip uses a dedupe key of its own)',
        )
        if self.stamp is not None:
            need(0 < len(self.stamp) <= 128 and "\0" not in self.stamp, "stamp must have 1 to 128 characters, no NUL")
            need(
                job.payload is None or (isinstance(job.payload, dict) and self.stamp not in job.payload),
                f'stamp "{self.stamp}" needs a payload that is an object without that key',
            )

    @property
    def body(self) -> str:
        """The job as the database keeps it."""
        job = self.job
        kept: dict[str, JsonValue] = {
            "kind": job.kind,
            "payload": job.payload,
            "priority": job.priority,
            "delay": None if job.delay is None else job.delay.total_seconds(),
            "ttl": None if job.expires_in is None else job.expires_in.total_seconds(),
            "key": job.key,
            "key_limit": job.key_limit,
            "dedupe": f"cron:{self.name}" if self.overlap == "skip" else job.dedupe,
            "tags": job.tag_list or None,
            "tolerations": job.toleration_list or None,
            "max_tries": job.max_tries,
            "max_losses": job.max_losses,
            "timeout_ms": milliseconds(job.timeout),
            "stamp": self.stamp,
        }
        return json.dumps({name: value for name, value in kept.items() if value is not None}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class CronStatus:
    """An entry as it stands in the database."""

    name: str
    schedule: str
    timezone: str
    job: dict[str, JsonValue]
    """What each tick enqueues."""
    next_at: datetime
    last_at: datetime | None
    """The tick that fired last."""
    paused: bool


@dataclass(frozen=True, slots=True)
class Fired:
    """A tick that this call fired, or tried to."""

    pool: str
    name: str
    tick_at: datetime
    job: Enqueued | None = None
    """With `overlap="skip"` it may be the one that was live already."""
    error: PacelineError | None = None
    """Why there is no job; the entry stays due, and the next call tries again."""


class Cron:
    """The cron entries of one pool."""

    def __init__(self, database: Database, pool: str = "default") -> None:
        """Use a database that is open."""
        self.database = database
        self.pool = pool

    async def put(self, entry: CronEntry) -> datetime:
        """Make an entry, or change the one of that name; when it fires next.

        The same entry may be put at every start of an application: a tick that is due is not lost by it, and a pause
        lasts.
        """
        now: datetime = await self.database.value("SELECT clock_timestamp()")
        next_at: datetime = await self.database.value(
            "SELECT paceline.put_cron($1, $2, $3, $4, $5::jsonb, $6)",
            self.pool, entry.name, entry.schedule, entry.timezone, entry.body,
            next_after(entry.schedule, entry.timezone, now),
        )  # fmt: skip
        return next_at

    async def delete(self, name: str) -> bool:
        """Whether there was one. Jobs that it has made stay."""
        return bool(await self.database.value("SELECT paceline.delete_cron($1, $2)", self.pool, name))

    async def pause(self, name: str, paused: bool = True) -> None:
        """Let an entry rest, or (`paused=False`) end that; ticks that passed meanwhile are not made up for."""
        next_at = None
        if not paused:
            for row in await self.database.rows("SELECT * FROM paceline.list_cron($1)", self.pool):
                if row["name"] == name:
                    next_at = next_after(row["schedule"], row["timezone"], row["now"])
        await self.database.value("SELECT paceline.pause_cron($1, $2, $3, $4)", self.pool, name, paused, next_at)

    async def list(self) -> tuple[CronStatus, ...]:
        """All entries of the pool, by name."""
        return tuple(
            CronStatus(
                row["name"], row["schedule"], row["timezone"], _shown(row["job"]), row["next_at"], row["last_at"],
                row["paused"],
            )
            for row in await self.database.rows("SELECT * FROM paceline.list_cron($1)", self.pool)
        )  # fmt: skip

    @staticmethod
    async def fire_due(database: Database) -> tuple[Fired, ...]:
        """Fire what is due in all pools that the login serves. Anybody may call it at any time: a tick fires once."""
        fired = []
        for due in await database.rows("SELECT * FROM paceline.cron_due()"):
            tick_at = due["due_at"]
            try:
                tick_at, next_at = latest_missed(due["schedule"], due["timezone"], due["due_at"], due["now"])
                rows = await database.rows(
                    "SELECT id, created FROM paceline.fire_cron($1, $2, $3, $4)",
                    due["id"], due["due_at"], next_at, tick_at,
                )  # fmt: skip
            except PacelineError as error:  # a full pool or a bad entry must not hold up the others
                fired.append(Fired(due["pool"], due["name"], tick_at, error=error))
            else:
                fired += [
                    Fired(due["pool"], due["name"], tick_at, Enqueued(JobId(row["id"]), row["created"])) for row in rows
                ]
        return tuple(fired)


def _shown(text: str) -> dict[str, JsonValue]:
    """The job of an entry; one that was put by SQL and cannot be read must not hide the others of its pool."""
    job = decode(text)
    return job if isinstance(job, dict) else {"kind": "unreadable", "payload": job}
