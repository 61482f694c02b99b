"""What commands ask of the queue, whoever answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from paceline.cron import CronEntry, CronStatus
    from paceline.job import JobId
    from paceline.scaling import DecisionSeen, GroupFound
    from paceline.seen import (
        Attempt,
        DeadJob,
        GroupSnapshot,
        Health,
        JobDetail,
        JobSeen,
        LiveState,
        PoolSeen,
        RunnerSeen,
        Unclaimable,
    )
    from paceline.tokens import NewToken, TokenSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Led:
    """Who leads a group now."""

    install: str
    group: str
    leader: str | None
    epoch: int | None
    before: str | None = None
    """Who was promoted until now, where a promotion was ended."""


class Source(Protocol):
    """Reads the queue, and does what a person does to it. Errors are PacelineErrors."""

    @property
    def place(self) -> str:
        """What it is, in words for people."""
        ...

    async def now(self) -> datetime:
        """What time it is there."""
        ...

    async def find_groups(self, group: str | None = None, install: str | None = None) -> "Sequence[GroupFound]":
        """Groups by a name, or namespace/name."""
        ...

    async def snapshot(self) -> "Sequence[GroupSnapshot]":
        """How every group stands."""
        ...

    async def list_runners(self, pool: str | None = None, group: str | None = None) -> "Sequence[RunnerSeen]":
        """Who is registered."""
        ...

    async def list_decisions(self, group: int, *, since: timedelta, most: int) -> "Sequence[DecisionSeen]":
        """Why a group had the sizes that it had, the newest first."""
        ...

    async def unclaimable(self, pool: str | None = None) -> "Sequence[Unclaimable]":
        """Ready jobs that nobody could claim, with the reason."""
        ...

    async def list_pools(self) -> "Sequence[PoolSeen]":
        """Pools by name."""
        ...

    async def list_jobs(
        self, pool: str | None = None, *, state: "LiveState | None" = None, kind: str | None = None,
        before: "JobSeen | JobId | None" = None, limit: int = 100,
    ) -> "Sequence[JobSeen]":  # fmt: skip
        """Live jobs, the newest first; `before` is the last one of the page before."""
        ...

    async def job_detail(self, job: "JobId") -> "JobDetail | None":
        """A job wherever it is; None if there is none that may be read."""
        ...

    async def job_attempts(self, job: "JobId") -> "Sequence[Attempt]":
        """The attempts on record, newest first."""
        ...

    async def cancel(self, job: "JobId") -> str:
        """`cancelled`, `cancelling`, `finished` or `unknown`."""
        ...

    async def retry(self, job: "JobId") -> str:
        """`retried`, or why not: `waiting`, `running`, `duplicate`, `finished` or `unknown`."""
        ...

    async def promote(self, runner: str, *, group: str | None = None, install: str | None = None) -> Led:
        """Make a Runner the leader."""
        ...

    async def clear(self, group: str, *, install: str | None = None) -> Led:
        """End a promotion."""
        ...

    async def dead_letters(
        self, pool: str | None = None, *, kind: str | None = None, cause: str | None = None,
        since: datetime | None = None, until: datetime | None = None, limit: int = 100,
    ) -> "Sequence[DeadJob]":  # fmt: skip
        """Dead letters, the latest death first."""
        ...

    async def redrive(self, jobs: "Sequence[JobId]") -> "list[JobId]":
        """Put dead letters back; those that went."""
        ...

    async def purge(self, jobs: "Sequence[JobId]") -> "list[JobId]":
        """Delete dead letters for good; those that went."""
        ...

    async def list_cron(self, pool: str) -> "Sequence[CronStatus]":
        """The cron entries of a pool, by name."""
        ...

    async def put_cron(self, pool: str, entry: "CronEntry") -> datetime:
        """Make or change a cron entry; when it fires next."""
        ...

    async def delete_cron(self, pool: str, name: str) -> bool:
        """Whether there was one."""
        ...

    async def pause_cron(self, pool: str, name: str, paused: bool) -> None:
        """Let a cron entry rest, or end that."""
        ...

    async def set_pool(
        self, pool: str, *, max_depth: int | None = None, rate: float | None = None, burst: float | None = None
    ) -> None:
        """None leaves a limit as it is, a negative number takes it away."""
        ...

    async def set_kind(self, pool: str, kind: str, rate: float, burst: float | None) -> None:
        """The rate of a kind; a negative one takes it away."""
        ...

    async def set_key(self, pool: str, key: str, limit: int | None, rate: float | None, burst: float | None) -> None:
        """Both limits of a key; None is no limit."""
        ...

    async def pause_pool(self, pool: str, paused: bool) -> None:
        """Let nobody claim from a pool, or end that."""
        ...

    async def health(self) -> "Health":
        """How well the database is."""
        ...

    async def list_tokens(self) -> "Sequence[TokenSeen]":
        """The tokens that may be managed, the newest first."""
        ...

    async def create_token(self, new: "NewToken") -> str:
        """Make a token; nobody shows it again."""
        ...

    async def revoke_token(self, number: str) -> bool:
        """Make a token worth nothing; whether nobody had done so before. NotFoundError: there is none."""
        ...
