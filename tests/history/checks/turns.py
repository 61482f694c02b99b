"""Promise 9: strict priority, and first come, first served within a lane and priority; as far as it can be seen.

A claim sees what was committed when it began, and skips what another claim has locked for the moment; neither is in the
record. So a job counts as passed over only if it had been ready for a while, and then again and again for longer than
a transaction is open.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from history.checks.violation import Violation
from history.events import History, JobChanged, JobRow, RunnerChanged, Tainted

EXPLAINED = 2.0
"""Seconds in which an open transaction may be the reason."""
OFTEN = 10
"""So many claims do not meet a lock that each time is another's."""


@dataclass(slots=True, eq=False)
class _Wait:
    """A job that was ready from `begin` to `end`, the first already later by what may be explained."""

    begin: float
    end: float
    job: int
    row: JobRow
    left: int
    """The commit that ended it: jobs that are claimed together do not pass each other over."""
    passed_in: int = 0
    since: float = 0.0
    passed: int = 0
    told: bool = False

    def passed_by(self, claim: JobChanged) -> bool:
        """Whether that was once too often; said once of each wait."""
        commit = claim.order[0]
        if self.told or claim.at >= self.end or commit in (self.left, self.passed_in):
            return False
        self.passed_in = commit
        self.passed += 1
        self.since = self.since or claim.at
        self.told = self.passed >= OFTEN and claim.at - self.since > EXPLAINED
        return self.told


def in_turn(history: History) -> Iterator[Violation]:
    """One pass over waits and claims, both by their time."""
    waits = sorted(_waits(history), key=lambda wait: wait.begin)
    by_priority: dict[tuple[str, int], list[tuple[float, int, _Wait]]] = defaultdict(list)
    by_seq: dict[tuple[int, int], list[tuple[int, int, _Wait]]] = defaultdict(list)
    at = 0
    for claim in sorted(_free_claims(history), key=lambda event: event.at):
        while at < len(waits) and waits[at].begin < claim.at:
            wait, at = waits[at], at + 1
            if ("kind", history.lanes[wait.row.lane].kind) not in history.rates:
                heap = by_priority[history.lanes[wait.row.lane].pool, wait.row.priority]
                heapq.heappush(heap, (-wait.end, wait.job, wait))  # the one that waits longest is at the top
            heapq.heappush(by_seq[wait.row.lane, wait.row.priority], (wait.row.seq, wait.job, wait))
        assert claim.old is not None
        pool, row = history.lanes[claim.old.lane].pool, claim.old
        for priority in range(row.priority + 1, 10):
            higher = by_priority[pool, priority]
            if higher and higher[0][2].passed_by(claim):
                text = f"of priority {priority} waited while many of lower ones were claimed"
                yield _passed(higher[0][2], claim, text)
        earlier = by_seq[row.lane, row.priority]
        while earlier and earlier[0][2].end <= claim.at:
            heapq.heappop(earlier)
        if row.key is None and earlier and earlier[0][0] < row.seq and earlier[0][2].passed_by(claim):
            yield _passed(earlier[0][2], claim, "waited while many that were ready later were claimed")


def _passed(wait: _Wait, claim: JobChanged, text: str) -> Violation:
    return Violation("turns", f"job {wait.job} {text}", (wait.job, claim.job), (claim,))


def _waits(history: History) -> Iterator[_Wait]:
    """Of jobs without a key: those of a key wait for it too."""
    ready: dict[int, JobChanged] = {}
    for event in history.changes():
        begun = ready.pop(event.job, None)
        if begun and begun.new and begun.new.key is None and begun.committed + EXPLAINED < event.at:
            yield _Wait(begun.committed + EXPLAINED, event.at, event.job, begun.new, event.order[0])
        if event.new and event.new.state == "r":
            ready[event.job] = event


def _free_claims(history: History) -> Iterator[JobChanged]:
    """Of Runners without a taint: a tainted one passes over what it must not have."""
    runners: dict[int | None, int] = {}
    taints: dict[int, int] = defaultdict(int)
    for event in history.events:
        if isinstance(event, RunnerChanged):
            runners[event.incarnation] = event.runner
        elif isinstance(event, Tainted):
            taints[event.runner] += 1 if event.on else -1
        elif (
            isinstance(event, JobChanged)
            and event.claim
            and event.old
            and event.new
            and not taints[runners.get(event.new.incarnation, 0)]
        ):
            yield event
