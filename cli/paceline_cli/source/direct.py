"""The database itself, by the SDK's readers."""

from datetime import datetime
from typing import TYPE_CHECKING

from paceline.admin import database_now
from paceline.leading import Leading
from paceline.queue import Queue
from paceline.reading import Reader
from paceline_cli.source.port import Led

if TYPE_CHECKING:
    from paceline.database import Database
    from paceline.job import JobId
    from paceline.leading import Candidate


class Direct(Reader):
    """A `Source` with a login of its own; a Reader already is most of one."""

    def __init__(self, database: "Database") -> None:
        """Use a database that is open."""
        super().__init__(database)
        self.place = f"the database {database.address}"

    async def now(self) -> datetime:
        """The database's clock."""
        return await database_now(self._database)

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


def _led(now: "Candidate", before: str | None) -> Led:
    return Led(install=now.install, group=now.full_group, leader=now.leader, epoch=now.epoch, before=before)
