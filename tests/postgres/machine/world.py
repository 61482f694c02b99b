"""What the queue holds, as plainly as it can be said: facts by name, each a value that never changes.

A transaction is then the facts that it changed. Times are the database's, in seconds, and never known exactly: a call
took place somewhere between two looks at its clock. What is judged by time is judged only where both ends of a span
agree.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import floor
from typing import Final, Literal, NamedTuple, TypeAlias

from paceline.taint import Taint

Place = Literal["scheduled", "blocked", "ready", "running", "done", "cancelled", "expired", "dead", "purged"]
State = Literal["active", "draining", "gone"]

WAITING: Final = ("scheduled", "blocked", "ready")
PATIENCE: Final = 5.0
"""So many seconds a runner with PreferNoClaim leaves work to others."""
SLACK: Final = 0.01
"""Permits by which a bucket may be off: the clock runs on between a look at it and its charge."""


class Violation(AssertionError):  # noqa: N818 -- a promise that was broken, not an error of the program
    """The database did what it must not."""


def need(held: object, message: str) -> None:
    if not held:
        raise Violation(message)


class Span(NamedTuple):
    """A moment between two others."""

    lo: float
    hi: float

    def after(self, seconds: float) -> "Span":
        return Span(self.lo + seconds, self.hi + seconds)

    def surely_by(self, now: "Span") -> bool:
        return self.hi <= now.lo

    def maybe_by(self, now: "Span") -> bool:
        return self.lo <= now.hi


class Turn(NamedTuple):
    """When a call began and ended, counted in such events."""

    begin: int
    end: int

    def before(self, other: "Turn") -> bool:
        return self.end < other.begin


@dataclass(frozen=True, slots=True)
class Job:
    id: int
    pool: str
    kind: str
    tags: tuple[str, ...]
    tolerations: tuple[str, ...]
    priority: int
    key: str | None
    dedupe: str | None
    max_tries: int
    max_losses: int
    place: Place
    since: Turn
    """When it took its position in line."""
    seq: int = 0
    """That position, as the database numbers it."""
    ready: Span | None = None
    due: Span | None = None
    expires: Span | None = None
    tries: int = 0
    losses: int = 0
    fence: int = 0
    holder: int | None = None
    cancel: bool = False
    progress: int | None = None

    @property
    def lane(self) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
        return self.pool, self.kind, self.tags, self.tolerations

    def before(self, other: "Job") -> bool:
        return self.since.before(other.since)


@dataclass(frozen=True, slots=True, repr=False)
class Boot:
    """An incarnation."""

    id: int
    runner: str
    state: State
    registered: Span
    leased: bool = True

    def __repr__(self) -> str:
        return f"{self.runner}#{self.id}"


@dataclass(frozen=True, slots=True, repr=False)
class Runner:
    name: str
    pool: str
    kinds: tuple[str, ...]
    tags: tuple[str, ...]
    external: bool

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Bucket:
    """Permits; the level is known between two bounds."""

    rate: float
    burst: float
    low: float
    high: float
    at: Span

    @classmethod
    def full(cls, rate: float, burst: float, now: Span) -> "Bucket":
        return cls(rate, burst, burst, burst, now)

    def most(self, now: Span) -> int:
        return floor(min(self.burst, self.high + self.rate * (now.hi - self.at.lo)) + SLACK)

    def least(self, now: Span) -> int:
        return floor(max(0.0, min(self.burst, self.low + self.rate * (now.lo - self.at.hi)) - SLACK))

    def charged(self, permits: int, now: Span) -> "Bucket":
        low = min(self.burst, self.low + self.rate * max(0.0, now.lo - self.at.hi)) - permits - SLACK
        high = min(self.burst, self.high + self.rate * (now.hi - self.at.lo)) - permits
        return replace(self, low=low, high=high, at=now)


@dataclass(frozen=True, slots=True)
class Key:
    limit: int | None
    bucket: Bucket | None = None


@dataclass(frozen=True, slots=True)
class Leader:
    boot: int | None = None
    epoch: int = 0
    promoted: str | None = None


Fact: TypeAlias = Job | Boot | Key | Bucket | Leader | bool | tuple[Taint, ...] | None
Name: TypeAlias = tuple[object, ...]

LEADER: Final[Name] = ("leader",)
LED: Final = "lead"
"""The pool that a group with dispatch: Leader serves; the other is `shop`."""


@dataclass
class World:
    """All facts. The runners themselves are always the same; what they may do is not."""

    runners: dict[str, Runner]
    facts: dict[Name, Fact] = field(default_factory=dict)

    def copy(self) -> "World":
        return World(self.runners, dict(self.facts))

    def changes(self, before: "World") -> dict[Name, tuple[Fact, Fact]]:
        names = {*before.facts, *self.facts}
        pairs = {name: (before.facts.get(name), self.facts.get(name)) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    @property
    def jobs(self) -> Iterator[Job]:
        return (fact for fact in list(self.facts.values()) if isinstance(fact, Job))

    @property
    def boots(self) -> Iterator[Boot]:
        return (fact for fact in list(self.facts.values()) if isinstance(fact, Boot))

    @property
    def keys(self) -> list[tuple[str, str]]:
        return [(str(name[1]), str(name[2])) for name, fact in self.facts.items() if isinstance(fact, Key)]

    @property
    def leader(self) -> Leader:
        found = self.facts[LEADER]
        assert isinstance(found, Leader)
        return found

    def job(self, number: int) -> Job | None:
        found = self.facts.get(("job", number))
        assert found is None or isinstance(found, Job)
        return found

    def boot(self, number: int) -> Boot:
        found = self.facts[("boot", number)]
        assert isinstance(found, Boot)
        return found

    def key(self, pool: str, name: str) -> Key | None:
        found = self.facts.get(("key", pool, name))
        assert found is None or isinstance(found, Key)
        return found

    def bucket(self, *name: object) -> Bucket | None:
        found = self.facts.get(("bucket", *name))
        assert found is None or isinstance(found, Bucket)
        return found

    def paused(self, pool: str) -> bool:
        return bool(self.facts.get(("paused", pool)))

    def put(self, fact: Job | Boot) -> None:
        self.facts["job" if isinstance(fact, Job) else "boot", fact.id] = fact

    def users(self, pool: str, key: str) -> list[Job]:
        """Who holds a permit of a key."""
        return [job for job in self.jobs if job.pool == pool and job.key == key and job.place in ("ready", "running")]

    def held(self, boot: int) -> list[Job]:
        return [job for job in self.jobs if job.place == "running" and job.holder == boot]

    def taints(self, runner: str) -> set[Taint]:
        """The union over sources; a group's hold for its runners in the cluster."""
        of_group = not self.runners[runner].external
        found: set[Taint] = set()
        for name, fact in self.facts.items():
            own = name[:2] == ("taints", runner)
            if isinstance(fact, tuple) and (own or (of_group and name[:2] == ("taints", self.runners[runner].pool))):
                found.update(fact)
        return found

    def has_effect(self, runner: str, *effects: str) -> bool:
        return any(taint.effect in effects for taint in self.taints(runner))

    def serves(self, runner: str, job: Job) -> bool:
        """Whether a runner may ever claim from that job's lane."""
        who = self.runners[runner]
        return (
            who.pool == job.pool
            and (who.kinds == ("*",) or job.kind in who.kinds)
            and set(job.tags) <= set(who.tags)
            and all(_tolerates(job, taint) for taint in self.taints(runner) if taint.effect == "NoClaim")
        )

    def hesitates(self, runner: str, job: Job) -> bool:
        """Whether it leaves that job to others for a while."""
        return any(not _tolerates(job, each) for each in self.taints(runner) if each.effect == "PreferNoClaim")

    def served(self, job: Job) -> bool:
        """Whether somebody who is there may claim from its lane."""
        return any(boot.state == "active" and boot.leased and self.serves(boot.runner, job) for boot in self.boots)

    def older(self, seconds: float) -> "World":
        """As if everything that is stored had happened so much earlier."""
        return World(self.runners, {name: _older(fact, seconds) for name, fact in self.facts.items()})


def _older(fact: Fact, seconds: float) -> Fact:
    match fact:
        case Job():
            spans = {name: getattr(fact, name) for name in ("ready", "due", "expires")}
            return replace(fact, **{name: span and span.after(-seconds) for name, span in spans.items()})
        case Boot():
            return replace(fact, registered=fact.registered.after(-seconds))
        case Bucket():
            return replace(fact, at=fact.at.after(-seconds))
        case Key(bucket=Bucket() as bucket):
            return replace(fact, bucket=replace(bucket, at=bucket.at.after(-seconds)))
    return fact


def _tolerates(job: Job, taint: Taint) -> bool:
    """A toleration is `key=value:Effect` with value and effect left out to mean any of them."""
    for text in job.tolerations:
        name, _, effect = text.partition(":")
        key, _, value = name.partition("=")
        if key == taint.key and value in ("", taint.value) and effect in ("", taint.effect):
            return True
    return False
