"""How pools stand now, and whether that was better or worse a minute ago: what a person wants to see first."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from paceline.database import Database
from paceline.reading import CAP
from paceline.seen import read


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A pool, and who works for it. Counts end at the cap that was asked for; `capped` says that one of them did."""

    at: datetime
    """The database's clock."""
    name: str
    paused: Literal["pool", "groups"] | None
    """Whether the pool is, or all of its groups are."""
    max_depth: int | None
    groups: tuple[str, ...]
    """namespace/name; without an operator the pool's own name."""
    dispatch: Literal["Shared", "Leader"]
    leader: str | None
    ready: int
    scheduled: int
    blocked: int
    running: int
    unclaimable: int
    """Those of `ready` that nobody could claim."""
    dead: int
    capped: bool
    oldest_seconds: float | None
    busy: int
    """Active runners that hold a job."""
    idle: int
    draining: int
    slots: int
    """Of active runners."""
    desired: int | None
    """Runners that the operator last decided on; None: nobody decides."""
    reason: str | None
    """Of the last decision, as in `paceline explain`."""
    limited_by: str | None
    done_rate: float | None
    """Attempts a second that ended well, over the last minute; None while nothing is known."""
    failed_rate: float | None
    ready_before: int | None
    """A minute ago."""
    oldest_before: float | None

    @property
    def pending(self) -> int:
        """Runners that were decided on and have not registered yet."""
        return max(0, (self.desired or 0) - self.busy - self.idle)


async def list_standing(database: Database, cap: int = CAP) -> list[Standing]:
    """The pools that the login may read, by name."""
    return [read(Standing, row) for row in await database.rows("SELECT * FROM paceline.standing($1)", cap)]
