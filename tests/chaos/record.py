"""What a run writes down beside the database's own record: faults, answers, statuses, ends of programs and pods."""

from dataclasses import dataclass, field

from chaos.faults import Fault
from chaos.seats import Ended
from history.events import History


@dataclass(slots=True, kw_only=True)
class Injected:
    """One fault: when it was done and undone, and when all worked again; times are those of the wall clock."""

    fault: Fault
    round: int
    began: float
    over: float = 0.0
    recovered: float | None = None
    """None if it never was."""
    missing: str = ""
    """What then was not as it must be."""
    faulty: str = ""
    """What could not be done, or did not come as it must; empty if nothing."""
    skipped: str = ""
    """Why it is not possible on this machine."""
    hit: list[str] = field(default_factory=list)
    """Pods, and Runners that dial, that it was done to."""
    deadly: list[int] = field(default_factory=list)
    """Jobs that take the process of whoever claims them."""

    @property
    def seconds(self) -> float | None:
        """From the end of the fault to the end of its consequences."""
        return None if self.recovered is None else self.recovered - self.over


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a caller of /v1/call was told; status 0 if its connection broke and nobody said anything."""

    n: int
    at: float
    status: int
    error: str = ""
    job: int | None = None
    result: object = None
    keyed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The status of a group, as a watch gave it."""

    group: str
    at: float
    generation: int
    epoch: int | None
    leader: str | None
    size: int | None = None
    """How many runners it is to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A group at the end: what its status says, and what is there."""

    group: str
    told: dict[str, object]
    there: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one claim touched: `before` the first fault, or `after` the last one."""

    when: str
    pool: str
    jobs: int
    rows: int
    """Of the job table, and the index entries that led there."""
    buffers: int
    """Pages of all tables and indexes."""


@dataclass(slots=True, kw_only=True)
class Record:
    """All of it. The history is read when it is over."""

    history: History
    injected: list[Injected] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    asked: int = 0
    """How many calls were made."""
    keyed: set[int] = field(default_factory=set)
    """Numbers of jobs whose producer may ask again as often as it likes: there is one of each."""
    seen: list[Seen] = field(default_factory=list)
    ends: list[Ended] = field(default_factory=list)
    standing: list[Standing] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    """Of the servers."""
    stuck: list[str] = field(default_factory=list)
    """Objects that should be gone, or should be there."""
