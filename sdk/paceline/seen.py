"""What reading the queue brings back. Fields have the names of the columns of the SQL functions that they come from."""

import dataclasses
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from pydantic import JsonValue

from paceline.job import Fence, JobId, decode

if TYPE_CHECKING:
    from paceline.database import Record

LiveState = Literal["scheduled", "blocked", "ready", "running"]
EndState = Literal["done", "cancelled", "expired", "dead"]
RunnerState = Literal["active", "draining", "stale"]

JSON_FIELDS: Final = frozenset({"payload", "result", "progress", "inputs", "proposals"})
T = TypeVar("T")


def read(kind: type[T], row: "Record") -> T:
    """A row as a value: arrays become tuples, JSON is decoded."""
    return kind(**{field.name: _value(field.name, row[field.name]) for field in dataclasses.fields(kind)})  # type: ignore[arg-type]  # T is a dataclass


def _value(name: str, value: object) -> object:
    if isinstance(value, list):
        return tuple(value)
    return decode(value) if name in JSON_FIELDS and isinstance(value, str) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSnapshot:
    """How a group stands. Counts end at the cap that was asked for; `capped` says that one of them did."""

    id: int
    install: str
    namespace: str
    name: str
    pool: str
    dispatch: Literal["Shared", "Leader"]
    paused: bool
    ready: int
    """Jobs that a live runner of the group, or a new one, could claim. Two groups may both report a job."""
    running: int
    scheduled: int
    """This and the next three are the whole pool's."""
    blocked: int
    unclaimable: int
    dead: int
    capped: bool
    oldest_seconds: float | None
    service_seconds: float | None
    """Mean of the last five minutes; None while nothing has been finished."""
    arrival_rate: float | None
    """Jobs per second over the last minute; None until two samples are there."""
    leader: str | None
    epoch: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclaimable:
    """Ready jobs of one lane that nobody could claim, and why."""

    pool: str
    kind: str
    tags: tuple[str, ...]
    tolerations: tuple[str, ...]
    jobs: int
    reason: Literal["kind", "tags", "taints"]
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSeen:
    """A pool, and how much is in it."""

    name: str
    install: str | None
    namespace: str | None
    paused: bool
    max_depth: int | None
    rate: float | None
    burst: float | None
    groups: int
    runners: int
    ready: int
    running: int
    scheduled: int
    blocked: int
    unclaimable: int
    dead: int
    capped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSeen:
    """A registration that lives, or a Runner that was lost. `id` is the Runner's name, its node id."""

    id: str
    hostname: str
    started_at: datetime
    last_heartbeat: datetime
    state: RunnerState
    instances_claimed: int
    pool: str
    install: str
    namespace: str
    group: str
    external: bool
    slots: int
    revision: str | None
    kinds: tuple[str, ...]
    tags: tuple[str, ...]
    taints: tuple[str, ...]
    leader: bool
    incarnation: int
    runner: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSeen:
    """A live job in a list."""

    id: JobId
    pool: str
    kind: str
    state: LiveState
    priority: int
    tags: tuple[str, ...]
    tolerations: tuple[str, ...]
    key: str | None
    dedupe: str | None
    enqueued_at: datetime
    ready_at: datetime | None
    run_at: datetime | None
    claimed_at: datetime | None
    expires_at: datetime | None
    tries: int
    max_tries: int
    losses: int
    max_losses: int
    runner: str | None
    cancelling: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDetail:
    """A job, wherever it is. What a place does not keep is None: history has no payload."""

    id: JobId
    pool: str
    kind: str
    state: LiveState | EndState
    priority: int
    tags: tuple[str, ...] | None
    tolerations: tuple[str, ...] | None
    key: str | None
    dedupe: str | None
    enqueued_at: datetime
    run_at: datetime | None
    ready_at: datetime | None
    claimed_at: datetime | None
    expires_at: datetime | None
    finished_at: datetime | None
    tries: int
    max_tries: int | None
    losses: int
    max_losses: int | None
    timeout_ms: int | None
    deadline: datetime | None
    """When a running attempt times out."""
    fence: Fence
    runner: str | None
    cancelling: bool
    progress: JsonValue
    payload: JsonValue
    result: JsonValue
    cause: str | None
    error: str | None
    trace: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of a job that did not simply succeed, or that left output."""

    fence: Fence
    started_at: datetime | None
    ended_at: datetime | None
    """None: it runs, and has said something."""
    runner: str | None
    revision: str | None
    outcome: Literal["running", "done", "failed", "lost", "handed_back", "cancelled"]
    cause: str | None
    error: str | None
    output: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedJob:
    """A job that has ended, and is no dead letter."""

    id: JobId
    pool: str
    kind: str
    state: EndState
    priority: int
    enqueued_at: datetime
    claimed_at: datetime | None
    finished_at: datetime
    tries: int
    losses: int
    runner: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadJob:
    """A dead letter."""

    id: JobId
    pool: str
    kind: str
    died_at: datetime
    cause: str
    error: str | None
    enqueued_at: datetime
    priority: int
    tags: tuple[str, ...]
    tolerations: tuple[str, ...]
    key: str | None
    dedupe: str | None
    tries: int
    max_tries: int
    losses: int
    max_losses: int
    payload: JsonValue


@dataclass(frozen=True, slots=True)
class DeadPlace:
    """Where a page of dead letters ended; the dead letter itself may have gone since."""

    died_at: datetime
    id: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A login and its role on a pool, or a namespace that may serve it."""

    pool: str | None
    """None: every pool."""
    login: str | None
    role: str | None
    namespace: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who keeps vacuum from removing dead rows. What the schema's owner may not see is None."""

    holder: Literal["session", "standby", "slot", "prepared"]
    name: str
    transactions: int | None
    """How many transactions have begun since."""
    age_seconds: float | None = None
    pid: int | None = None
    login: str | None = None
    application: str | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How well the database is."""

    holders: tuple[Holder, ...]
    live_tuples: int | None
    dead_tuples: int | None
    last_vacuum: datetime | None
    tick_overdue_seconds: float | None
    """None: nobody has ever done the housekeeping."""
    partition_days: float
    history_late: int
