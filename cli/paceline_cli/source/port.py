"""What commands ask of the queue, whoever answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from paceline.job import JobId
    from paceline.scaling import DecisionSeen, GroupFound
    from paceline.seen import (
        Attempt,
        GroupSnapshot,
        JobDetail,
        JobSeen,
        LiveState,
        PoolSeen,
        RunnerSeen,
        Unclaimable,
    )


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
    """Reads the queue, and does the few things that a person does to it. Errors are PacelineErrors."""

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
