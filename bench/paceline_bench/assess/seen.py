"""What was seen in one cell: plain numbers, as they are kept in the results."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from paceline_bench.assess.plan import WAYS, Rate, Way, told

FULL: Final = 90.0
"""Per cent of all cores: above this the machine was full, and what is slow there is slow for want of processors."""
DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class Gap:
    """A cell that could not be measured, and why."""

    way: Way
    runners: int
    rate: Rate
    reason: str

    @property
    def name(self) -> str:
        """For people."""
        return f"{WAYS[self.way]}, {self.runners:,} runners, {told(self.rate)}"

    @property
    def place(self) -> tuple[Way, int]:
        """Which way, and how many."""
        return self.way, self.runners


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One way, so many runners, one rate. Times are in milliseconds, processors in per cent of one core."""

    way: Way
    runners: int
    rate: Rate
    seconds: float
    """How long it was measured."""
    due: int | None
    """Jobs that came meanwhile, those included that nobody found the time to enqueue; None flat out, where it is as
    many as are taken."""
    jobs: int
    """Those that the database had taken."""
    done: float
    """Finished in a second."""
    claim_p50: float
    """From creation to pick-up, by the database's clock."""
    claim_p95: float
    claim_p99: float
    unclaimed: int
    """Still waiting when patience was over; they count as waiting until then."""
    backlog_first: int
    """The most that waited in the first fifth of the time."""
    backlog_last: int
    """The fewest that waited in the last fifth."""
    coordinator_cpu: float | None
    """Of all gateways, or of PgBouncer; None where runners ask the database itself."""
    postgres_cpu: float
    """Of the server with all its processes."""
    runners_cpu: float
    """Of all processes of runners."""
    machine_cpu: float
    """Of all cores together, whoever used them: 100 is a full machine."""
    write_p50: float
    """A small write with its commit, tried ten times a second beside everything else."""
    write_p99: float
    sync: float
    """What it took on average to make the log durable, by the database's own statistics."""
    gateway_write_p95: float | None
    """Writes of the gateways, by their own histogram."""
    failed: Mapping[str, int]
    """Claims that came to nothing, by why: as gateways count them; else `late`, results that no longer counted."""
    lost: int | None
    """Leases that ended under runners at work; None where a gateway holds them."""
    errors: int | None
    """Requests that a gateway answered with an error."""
    empty: float | None
    """For each job, how many times a runner asked and got nothing; a gateway asks for all of its runners."""
    connections: int
    """The most at once on the server, ours not counted."""
    wal: float
    """Bytes of write-ahead log for each job, from enqueue to history, with heartbeats and all."""

    @property
    def place(self) -> tuple[Way, int]:
        """Which way, and how many."""
        return self.way, self.runners

    @property
    def full(self) -> bool:
        """Whether the machine had no processor left."""
        return self.machine_cpu >= FULL

    def as_json(self) -> dict[str, Any]:
        """For the results; more digits than this no repetition would confirm."""
        return {
            name: float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        """From the results."""
        return cls(**told)
