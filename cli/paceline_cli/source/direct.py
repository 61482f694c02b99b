"""The database itself, by the SDK's readers."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from paceline import admin
from paceline.cron import Cron
from paceline.leading import Leading
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.tokens import Tokens
from paceline_cli.source.pages import in_pages
from paceline_cli.source.port import Led

if TYPE_CHECKING:
    from paceline.cron import CronEntry, CronStatus
    from paceline.database import Database
    from paceline.job import JobId
    from paceline.leading import Candidate
    from paceline.seen import DeadJob
    from paceline.tokens import NewToken, TokenSeen


class Direct(Reader):
    """A `Source` with a login of its own; a Reader already is most of one."""

    def __init__(self, database: "Database") -> None:
        """Use a database that is open."""
        super().__init__(database)
        self.place = f"the database {database.address}"

    async def now(self) -> datetime:
        """The database's clock."""
        return await admin.database_now(self._database)

    async def cancel(self, job: "JobId") -> str:
        """Take a job out."""
        return await Queue(self._database).cancel(job)

    async def retry(self, job: "JobId") -> str:
        """Try a job again now."""
        return await Queue(self._database).retry(job)

    async def promote(self, runner: str, *, group: str | None = None, install: str | None = None) -> Led:
        """Make a Runner the leader."""
        return _led(await Leading(self._database).promote(runner, group=group, install=install), None)

    async def clear(self, group: str, *, install: str | None = None) -> Led:
        """End a promotion."""
        return _led(*await Leading(self._database).clear(group, install=install))

    async def dead_letters(
        self, pool: str | None = None, *, kind: str | None = None, cause: str | None = None,
        since: datetime | None = None, until: datetime | None = None, limit: int = 100,
    ) -> "list[DeadJob]":  # fmt: skip
        """The latest death first."""
        return await in_pages(
            lambda last, size: self.list_dead(
                pool, kind=kind, cause=cause, since=since, until=until, before=last, limit=size
            ),
            limit,
        )

    async def redrive(self, jobs: "Sequence[JobId]") -> "list[JobId]":
        """Put dead letters back."""
        return await Queue(self._database).redrive(jobs)

    async def purge(self, jobs: "Sequence[JobId]") -> "list[JobId]":
        """Delete dead letters for good."""
        return await Queue(self._database).purge(jobs)

    async def list_cron(self, pool: str) -> "tuple[CronStatus, ...]":
        """The entries of a pool."""
        return await Cron(self._database, pool).list()

    async def put_cron(self, pool: str, entry: "CronEntry") -> datetime:
        """Make or change an entry."""
        return await Cron(self._database, pool).put(entry)

    async def delete_cron(self, pool: str, name: str) -> bool:
        """Whether there was one."""
        return await Cron(self._database, pool).delete(name)

    async def pause_cron(self, pool: str, name: str, paused: bool) -> None:
        """Let an entry rest, or end that."""
        await Cron(self._database, pool).pause(name, paused)

    async def set_pool(
        self, pool: str, *, max_depth: int | None = None, rate: float | None = None, burst: float | None = None
    ) -> None:
        """Limits of a pool."""
        await admin.set_pool(self._database, pool, max_depth=max_depth, rate=rate, burst=burst)

    async def set_kind(self, pool: str, kind: str, rate: float, burst: float | None) -> None:
        """The rate of a kind."""
        await admin.set_kind(self._database, pool, kind, rate, burst)

    async def set_key(self, pool: str, key: str, limit: int | None, rate: float | None, burst: float | None) -> None:
        """Both limits of a key."""
        await admin.set_key(self._database, pool, key, limit, rate, burst)

    async def pause_pool(self, pool: str, paused: bool) -> None:
        """Let nobody claim from a pool, or end that."""
        queue = Queue(self._database, pool)
        await (queue.pause() if paused else queue.resume())

    async def list_tokens(self) -> "list[TokenSeen]":
        """All that the login may manage."""
        return await Tokens(self._database).list()

    async def create_token(self, new: "NewToken") -> str:
        """Make one."""
        return await Tokens(self._database).make(new)

    async def revoke_token(self, number: str) -> bool:
        """Make one worth nothing."""
        return await Tokens(self._database).revoke(number)


def _led(now: "Candidate", before: str | None) -> Led:
    return Led(install=now.install, group=now.full_group, leader=now.leader, epoch=now.epoch, before=before)
