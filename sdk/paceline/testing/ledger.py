"""The jobs of the in-memory queue and every way from one state to the next.

Each rule is the one of the SQL function of the same name in sql/0001_queue, without its locks. tests/conformance keeps
the two together.
"""

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from paceline.errors import TooManyLanesError
from paceline.job import Enqueued, Fence, JobId, NewJob
from paceline.testing.clock import Clock, later

State = Literal["scheduled", "blocked", "ready", "running", "done", "cancelled", "expired", "dead"]
Key: TypeAlias = tuple[str, str]
"""A pool and the name of a concurrency key in it."""
MOST_LANES: Final = 2000


class Lane(NamedTuple):
    """What decides which runners may claim a job."""

    pool: str
    kind: str
    tags: frozenset[str]
    tolerations: frozenset[str]

    @classmethod
    def of(cls, pool: str, job: NewJob) -> "Lane":
        """The lane that a new job goes to."""
        return cls(pool, job.kind, _parts(job.tag_list), _parts(job.toleration_list))


@dataclass(slots=True)
class Row:
    """A job, from its enqueueing to whatever became of it."""

    id: JobId
    asked: NewJob
    lane: Lane
    state: State
    seq: int
    """Position among the ready and the blocked, renewed on every return to them."""
    enqueued_at: datetime
    run_at: datetime | None = None
    expires_at: datetime | None = None
    ready_at: datetime | None = None
    holder: int | None = None
    fence: Fence | None = None
    tries: int = 0
    losses: int = 0
    cancel: bool = False
    """Somebody wants it stopped while it runs."""
    progress: JsonValue = None
    deadline: datetime | None = None
    """Of this attempt, where its handler asked for more time."""
    result: str | None = None
    cause: str | None = None
    error: str | None = None

    @property
    def key(self) -> Key | None:
        """Its concurrency key."""
        return None if self.asked.key is None else (self.lane.pool, self.asked.key)

    @property
    def dedupe(self) -> tuple[str, str, str] | None:
        """What no second live job may have."""
        return None if self.asked.dedupe is None else (self.lane.pool, self.lane.kind, self.asked.dedupe)


class Ledger:
    """All jobs of all pools that share one memory."""

    def __init__(self, clock: Clock, seed: int) -> None:
        """Begin with nothing; the seed decides whose turn it is among lanes of one priority."""
        self.clock = clock
        self.live: dict[JobId, Row] = {}
        self.gone: dict[JobId, Row] = {}
        """History and dead letters."""
        self.served: Collection[Lane] = ()
        """Lanes that a live runner could claim from when the tick last looked."""
        self._limits: dict[Key, int] = {}
        self._lanes: set[Lane] = set()
        self._dedupe: dict[tuple[str, str, str], JobId] = {}
        self._ids, self._seqs, self._fences = itertools.count(1), itertools.count(1), itertools.count(1)
        self._turns = random.Random(seed)  # noqa: S311 -- a turn, not a secret

    def insert(self, pool: str, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Put jobs in: all of them or none."""
        now = self.clock()
        lanes = [Lane.of(pool, job) for job in jobs]
        if sum(lane.pool == pool for lane in self._lanes.union(lanes)) > MOST_LANES:
            raise TooManyLanesError(
                f'pool "{pool}" has {MOST_LANES} lanes (kind, tags and tolerations together), and no more may be made: '
                "use fewer different kinds, tags or tolerations, or another pool"
            )
        self._lanes.update(lanes)
        self._set_limits(pool, jobs)
        return [self._insert(lane, job, now) for lane, job in zip(lanes, jobs, strict=True)]

    def _insert(self, lane: Lane, job: NewJob, now: datetime) -> Enqueued:
        due = job.run_at if job.delay is None else later(now, job.delay)
        expires_at = job.expires_at if job.expires_in is None else later(now, job.expires_in)
        row = Row(JobId(next(self._ids)), job, lane, "ready", next(self._seqs), now, expires_at=expires_at)
        if row.dedupe is not None:
            there = self._dedupe.setdefault(row.dedupe, row.id)
            if there != row.id:
                return Enqueued(there, created=False)
        if due is not None and due > now:
            row.state, row.run_at = "scheduled", due
        elif row.key is not None:
            row.state = "blocked"
        else:
            row.ready_at = now
        self.live[row.id] = row
        return Enqueued(row.id, created=True)

    def _set_limits(self, pool: str, jobs: Sequence[NewJob]) -> None:
        """A limit given with a key becomes the key's; of several in one call the last one counts."""
        for job in jobs:
            if job.key is not None:
                key = (pool, job.key)
                self._limits[key] = job.key_limit if job.key_limit is not None else self._limits.get(key, 1)

    def claim(self, holder: int, want: int, may: Callable[[Row], bool]) -> list[Row]:
        """Give out the ready jobs that the holder may have: strict priority, lanes in turn, first in first out."""
        now = self.clock()
        ready = [
            row
            for row in self.live.values()
            if row.state == "ready" and (row.expires_at is None or row.expires_at > now) and may(row)
        ]
        turn = {lane: self._turns.random() for lane in dict.fromkeys(row.lane for row in ready)}
        ready.sort(key=lambda row: (-row.asked.priority, turn[row.lane], row.seq))
        taken = ready[:want]
        if taken:
            fence = Fence(next(self._fences))
            for row in taken:
                row.state, row.holder, row.fence, row.progress, row.deadline = "running", holder, fence, None, None
        return sorted(taken, key=lambda row: (-row.asked.priority, row.seq))

    def held(self, holder: int) -> list[Row]:
        """The jobs that an incarnation runs."""
        return [row for row in self.live.values() if row.state == "running" and row.holder == holder]

    def own(self, holder: int, claims: Iterable[tuple[JobId, Fence]]) -> dict[JobId, Row]:
        """Of the claims that a runner writes about, those that are still its own: right holder, right fence."""
        fences: dict[JobId, Fence] = {}
        for job, fence in claims:
            fences.setdefault(job, fence)
        found = {job: self.live[job] for job in fences if job in self.live}
        return {job: row for job, row in found.items() if row.holder == holder and row.fence == fences[job]}

    def finish(self, row: Row, state: State) -> None:
        """Move a job out of the live ones."""
        if row.dedupe is not None:
            del self._dedupe[row.dedupe]
        row.state, row.holder = state, None
        self.gone[row.id] = self.live.pop(row.id)

    def bury(self, row: Row, cause: str, error: str) -> None:
        """Make a job a dead letter."""
        row.cause, row.error = cause, error
        self.finish(row, "dead")

    def retry(self, row: Row, run_at: datetime) -> None:
        """Let a job wait for its next try; its permit is free meanwhile."""
        row.state, row.run_at, row.holder, row.ready_at = "scheduled", run_at, None, None

    def make_ready(self, rows: Iterable[Row]) -> None:
        """Let jobs be claimed from now on, in this order."""
        now = self.clock()
        for row in rows:
            row.state, row.seq, row.ready_at, row.run_at, row.holder = "ready", next(self._seqs), now, None, None

    def lose(self, holder: int, cause: str) -> None:
        """What an incarnation that is gone held is claimable again; one loss charged, no try."""
        rows = self.held(holder)
        for row in [row for row in rows if row.cancel]:
            self.finish(row, "cancelled")
        for row in [row for row in rows if row.state == "running"]:
            row.losses += 1
            if row.losses > row.asked.max_losses:
                text = f"its runner was lost more often than max_losses allows; last cause: {cause}"
                self.bury(row, "Poison", text)
        self.make_ready(sorted((row for row in rows if row.state == "running"), key=lambda row: row.id))

    def redrive(self, job: JobId) -> bool:
        """Make a dead letter as new as on its first day; one whose dedupe value is taken again stays dead."""
        row = self.gone.get(job)
        if row is None or row.state != "dead" or (row.dedupe is not None and row.dedupe in self._dedupe):
            return False
        new = Row(row.id, row.asked, row.lane, "blocked", next(self._seqs), row.enqueued_at)
        if new.key is None:
            new.state, new.ready_at = "ready", self.clock()
        if new.dedupe is not None:
            self._dedupe[new.dedupe] = job
        del self.gone[job]
        self.live[job] = new
        return True

    def release(self) -> None:
        """Jobs whose time has come are due; the one that was due first comes first."""
        now = self.clock()
        due = [(row.run_at, row.id) for row in self._waiting("scheduled") if row.run_at is not None]
        self.become_due(self.live[job] for run_at, job in sorted(due) if run_at <= now)

    def become_due(self, rows: Iterable[Row]) -> None:
        """Make scheduled jobs ready, or let them wait for a permit if they have a key."""
        for row in rows:
            if row.key is None:
                self.make_ready([row])
            else:
                row.state, row.seq, row.run_at = "blocked", next(self._seqs), None

    def expire(self) -> None:
        """Take out what was not started in time."""
        now = self.clock()
        for row in self._waiting("scheduled", "blocked", "ready"):
            if row.expires_at is not None and row.expires_at <= now:
                self.finish(row, "expired")

    def review_keys(self) -> None:
        """A ready job that no live runner can claim gives its permit back to one that somebody can."""
        wanted = {row.key for row in self._waiting("blocked") if row.lane in self.served}
        for row in self._waiting("ready"):
            if row.key is not None and row.key in wanted and row.lane not in self.served:
                row.state, row.ready_at = "blocked", None

    def admit(self, keys: Collection[Key] | None = None) -> None:
        """Make blocked jobs of these keys (or of all) ready, as far as their limits allow."""
        blocked: dict[Key, list[Row]] = defaultdict(list)
        permits: dict[Key, int] = defaultdict(int)
        for row in self.live.values():
            if row.key is not None and row.state == "blocked":
                blocked[row.key].append(row)
            elif row.key is not None and row.state in ("ready", "running"):
                permits[row.key] += 1
        for key in self._limits if keys is None else [key for key in self._limits if key in keys]:
            room = self._limits[key] - permits[key]
            order = sorted(blocked[key], key=lambda row: (row.lane not in self.served, -row.asked.priority, row.seq))
            self.make_ready(order[: max(room, 0)])

    def _waiting(self, *states: State) -> list[Row]:
        return [row for row in self.live.values() if row.state in states]


def _parts(joined: str) -> frozenset[str]:
    return frozenset(joined.split(",")) if joined else frozenset()
