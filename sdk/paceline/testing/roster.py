"""The runners of the in-memory queue: registrations, leases, taints, and the housekeeping that watches over them."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal

from paceline.errors import DatabaseError, InvalidInputError, NameTakenError
from paceline.taint import Taint
from paceline.testing.clock import Clock, later
from paceline.testing.ledger import Lane, Ledger, Row

if TYPE_CHECKING:
    from paceline.claims import Registration

POOL: Final = re.compile(r"[a-z0-9]([-a-z0-9_.]*[a-z0-9])?")
PREFERRED_ELSEWHERE: Final = timedelta(seconds=5)
"""So long a runner with a PreferNoClaim taint leaves a job to others."""


@dataclass(slots=True)
class Named:
    """The stable Runner: a name and its taints, which survive restarts."""

    id: int
    name: str
    pool: str
    taints: dict[str, tuple[Taint, ...]] = field(default_factory=dict)
    """By source: each writer touches only its own."""

    def shuns(self, lane: Lane, effect: str) -> bool:
        """Whether a taint of that effect is on the runner and the lane does not tolerate it."""
        every = itertools.chain.from_iterable(self.taints.values())
        return any(taint.effect == effect and not _tolerates(lane, taint) for taint in every)

    @property
    def drains(self) -> bool:
        """Whether it is to finish and leave; no toleration helps against that."""
        return any(taint.effect == "Drain" for taint in itertools.chain.from_iterable(self.taints.values()))


@dataclass(slots=True)
class Boot:
    """One incarnation: a registration of a Runner by one process."""

    id: int
    runner: Named
    kinds: tuple[str, ...]
    tags: frozenset[str]
    lease: timedelta
    lease_until: datetime
    state: Literal["active", "draining", "gone"]
    cause: str | None = None
    """Who ended it."""

    def serves(self, lane: Lane) -> bool:
        """Whether it may claim from a lane, now or in a few seconds."""
        return (
            lane.pool == self.runner.pool
            and (lane.kind in self.kinds or self.kinds == ("*",))
            and lane.tags <= self.tags
            and not self.runner.shuns(lane, "NoClaim")
        )

    def may_claim(self, row: Row, now: datetime) -> bool:
        """Whether it may claim a ready job at this moment."""
        if not self.serves(row.lane):
            return False
        late = self.runner.shuns(row.lane, "PreferNoClaim")
        return not late or (row.ready_at is not None and row.ready_at < now - PREFERRED_ELSEWHERE)

    def lives(self, now: datetime) -> bool:
        """Whether its lease holds; one that has ended is never revived."""
        return self.state != "gone" and self.lease_until > now


class Memory:
    """What stands in for a database: everything that queues and runners share."""

    def __init__(self, clock: Clock, seed: int) -> None:
        """Begin with nothing."""
        self.clock = clock
        self.ledger = Ledger(clock, seed)
        self.pools: dict[str, int] = {}
        self.paused: set[str] = set()
        self.closed = False
        self._named: dict[str, Named] = {}
        self._boots: dict[int, Boot] = {}
        self._numbers = itertools.count(1)

    def require_open(self) -> None:
        """Refuse to work after `close`, as a closed connection would."""
        if self.closed:
            raise DatabaseError("cannot reach the in-memory queue: it is closed")

    def pool_for(self, name: str) -> int:
        """The number of a pool, made on first use."""
        if name not in self.pools:
            if not POOL.fullmatch(name) or len(name) > 63:
                raise InvalidInputError(
                    f'pool "{name}" is not a name: use at most 63 lower-case letters, digits, "-", "_" and ".", '
                    "a letter or digit at both ends"
                )
            self.pools[name] = len(self.pools) + 1
        return self.pools[name]

    def register(self, who: "Registration") -> Boot:
        """Add an incarnation. The newest wins: a live predecessor is fenced, a draining one finishes."""
        self.pool_for(who.pool)
        runner = self._named.setdefault(who.name, Named(len(self._named) + 1, who.name, who.pool))
        if runner.pool != who.pool:
            raise NameTakenError(
                f'a Runner called "{who.name}" belongs to group "{runner.pool}" here: '
                "choose another name (--name, PACELINE_NODE_ID)"
            )
        before = [boot for boot in self._boots.values() if boot.runner is runner and boot.state == "active"]
        boot = Boot(
            id=next(self._numbers),
            runner=runner,
            kinds=who.kinds,
            tags=frozenset(who.tags),
            lease=who.lease,
            lease_until=later(self.clock(), who.lease),
            state="draining" if runner.drains else "active",
        )
        self._boots[boot.id] = boot
        self.end(before, "Replaced")
        return boot

    def end(self, boots: Iterable[Boot], cause: str) -> None:
        """Fence incarnations; what they hold is lost."""
        for boot in boots:
            boot.state, boot.cause = "gone", cause
            self.ledger.lose(boot.id, cause)
            self._boots.pop(boot.id, None)

    def taint(self, runner: Named, taints: Iterable[Taint], source: str) -> None:
        """Set the taints of a Runner from one source, all at once; of one key and effect the last value counts."""
        runner.taints[source] = tuple({(taint.key, taint.effect): taint for taint in taints}.values())
        for boot in self._boots.values():
            if boot.runner is runner and boot.state == "active" and runner.drains:
                boot.state = "draining"

    def tick(self) -> None:
        """All of the housekeeping: leases, due jobs, expiry, keys."""
        now = self.clock()
        self.end([boot for boot in self._boots.values() if not boot.lives(now)], "LeaseExpired")
        self.ledger.release()
        self.ledger.expire()
        active = [boot for boot in self._boots.values() if boot.state == "active"]
        lanes = {row.lane for row in self.ledger.live.values()}
        self.ledger.served = {lane for lane in lanes if any(boot.serves(lane) for boot in active)}
        self.ledger.review_keys()
        self.ledger.admit()


def _tolerates(lane: Lane, taint: Taint) -> bool:
    """A toleration is `key=value:Effect` with value and effect left out to mean any of them, or `*`."""
    key, value, effect = taint.key, taint.value, taint.effect
    return not lane.tolerations.isdisjoint({"*", key, f"{key}:{effect}", f"{key}={value}", f"{key}={value}:{effect}"})
