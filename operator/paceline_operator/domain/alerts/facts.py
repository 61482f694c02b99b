"""What alerts are decided by: how a group stands, and what has happened to it in the last quarter of an hour."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

WINDOW: Final = timedelta(minutes=15)
"""So long what has arrived or failed counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Of one group. None: nobody knows now, and an alert that asks for it stays as it is."""

    wanted: int = 0
    ready: int = 0
    updated: int = 0
    reachable: bool = True
    """Whether its database can be used."""
    leaderless: bool = False
    """It has `dispatch: Leader`, and nobody may lead."""
    stalled: bool = False
    """An update waits for a job."""
    given_up: str = ""
    """The reason for which a new revision was given up, while that stands."""
    oldest: float | None = None
    """Seconds that the oldest job has waited that could start."""
    unclaimable: int | None = None
    dead: int | None = None
    arrived: int | None = None
    """Dead letters more than at some time within the window."""
    failed: int = 0
    """Pods that have failed within the window."""
    held: float | None = None
    """Seconds for which vacuum has been kept from the database."""
    watched: timedelta = WINDOW
    """How long this operator has been watching: what it has not seen in less than the window may have been there."""


class Recent:
    """What has happened within the window. An operator that takes over begins anew."""

    def __init__(self, dead: int | None, now: datetime) -> None:
        """`dead` is how many dead letters there were when somebody last looked."""
        self._began = now
        self._dead: deque[tuple[datetime, int]] = deque()
        self._failed: deque[tuple[datetime, int]] = deque()
        if dead is not None:
            self.note(dead, 0, now)

    def note(self, dead: int | None, failed: int, now: datetime) -> None:
        """What a look has found: all dead letters that there are, and pods that have failed since the look before."""
        if dead is None and self._dead:
            dead = self._dead[-1][1]  # while nobody can tell, there are as many as before
        if dead is not None:
            while self._dead and self._dead[-1][1] >= dead:  # of what is kept each is the least from then on
                self._dead.pop()
            self._dead.append((now, dead))
        if failed:
            self._failed.append((now, failed))
        for kept in (self._dead, self._failed):
            while len(kept) > (kept is self._dead) and kept[0][0] <= now - WINDOW:
                kept.popleft()

    def arrived(self, dead: int | None) -> int | None:
        """How many dead letters there are more than at some time within the window."""
        return None if dead is None or not self._dead else dead - self._dead[0][1]

    @property
    def failed(self) -> int:
        """How many pods have failed within the window."""
        return sum(count for _, count in self._failed)

    def watched(self, now: datetime) -> timedelta:
        """Since when anything is known."""
        return now - self._began
