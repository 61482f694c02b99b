"""What happened in a run, as values: what the database committed, what handlers did, what was done to the processes.

Times in `at` and `committed` are the database's clock in seconds. Marks and stops are of CLOCK_MONOTONIC, which all
processes of a machine share. The two clocks are never compared with each other.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

Order: TypeAlias = tuple[int, int]
"""The place of the commit among all commits, and of the write among all writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A live job. States are those of the table: s scheduled, b blocked, r ready, x running."""

    state: str
    lane: int
    incarnation: int | None = None
    fence: int = 0
    tries: int = 0
    losses: int = 0
    max_tries: int = 5
    max_losses: int = 3
    priority: int = 5
    seq: int = 0
    key: int | None = None
    dedupe: str | None = None
    n: int = -1
    """Its number in the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChanged:
    """A job came (no `old`), changed, or left the live table (no `new`)."""

    order: Order
    at: float
    committed: float
    job: int
    old: JobRow | None
    new: JobRow | None

    @property
    def claim(self) -> bool:
        """Whether somebody got it by this."""
        if self.new is None or self.new.state != "x":
            return False
        return self.old is None or (self.old.state, self.old.fence) != ("x", self.new.fence)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded:
    """A row of history (outcomes d, c, e) or of the dead letters (its cause)."""

    order: Order
    job: int
    place: str
    outcome: str
    fence: int
    incarnation: int | None
    tries: int
    losses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerChanged:
    """An incarnation registered (no `old`), drains (d) or is gone (z)."""

    order: Order
    committed: float
    incarnation: int
    runner: int
    old: str | None
    new: str
    cause: str | None = None
    lease_until: float = 0.0
    hostname: str = ""
    """Of its pod, or of the machine from which it dials a gateway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tainted:
    """A taint of a Runner came or went."""

    order: Order
    runner: int
    source: str
    key: str
    effect: str
    on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Led:
    """Another leader of a group, or none."""

    order: Order
    group: int
    incarnation: int | None
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Charged:
    """A bucket (of a pool, kind or key) was charged at that moment of the database's clock."""

    order: Order
    bucket: tuple[str, int]
    at: float


Event: TypeAlias = JobChanged | JobEnded | RunnerChanged | Tainted | Led | Charged


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A sign of life of a handler: start, still, and its end as it saw it: ok, failed, stopped."""

    what: str
    job: int
    fence: int
    at: float
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """A write of a runner that was lost, which came after its job was somebody else's, and whether it was refused."""

    call: str
    job: int
    fence: int
    refused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a runner's process ended; `signals` are those that it was sent."""

    runner: str
    pid: int
    code: int
    signals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lane:
    """Which jobs are in it."""

    pool: str
    kind: int
    tolerations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """What must come of a planned job, unless it is cancelled or its runners are lost too often."""

    outcome: str
    tries: int
    cancelled: bool = False


@dataclass(slots=True, kw_only=True)
class History:
    """All of it. Events are in order."""

    events: list[Event]
    lanes: dict[int, Lane] = field(default_factory=dict)
    pools: dict[str, int] = field(default_factory=dict)
    leads: dict[str, int] = field(default_factory=dict)
    """The group that leads a pool."""
    runners: dict[int, str] = field(default_factory=dict)
    """Names of Runners that are there in the end: of those in pods only the last ones."""
    key_limits: dict[int, int] = field(default_factory=dict)
    rates: dict[tuple[str, int], tuple[float, float]] = field(default_factory=dict)
    """Rate and burst of a bucket."""
    expected: dict[int, Expected] = field(default_factory=dict)
    told: dict[int, int] = field(default_factory=dict)
    """What producers were told: the number in the plan, and the job."""
    marks: list[Mark] = field(default_factory=list)
    stopped: dict[int, float] = field(default_factory=dict)
    """When a process was first sent SIGSTOP."""
    late: list[Late] = field(default_factory=list)
    exits: list[Exit] = field(default_factory=list)
    outages: list[tuple[float, float]] = field(default_factory=list)
    """When the server was down."""

    def changes(self) -> list[JobChanged]:
        """Of jobs alone."""
        return [event for event in self.events if isinstance(event, JobChanged)]

    def of_job(self, job: int) -> list[Event | Mark | Late]:
        """Everything about one of them: what was committed, then what was seen from outside."""
        committed = [event for event in self.events if isinstance(event, JobChanged | JobEnded) and event.job == job]
        marks = sorted((mark for mark in self.marks if mark.job == job), key=lambda mark: mark.at)
        return [*committed, *marks, *(late for late in self.late if late.job == job)]
