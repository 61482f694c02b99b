"""A runner of the in-memory queue, for tests that claim jobs themselves."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NoReturn, Self

from pydantic import JsonValue

from paceline.claims import PROGRESS_LIMIT, Beat, Failed, Finished, IncarnationId, Registration, Step, Verdict
from paceline.errors import InvalidInputError
from paceline.job import LONGEST, Claimed, Fence, JobId, encode, milliseconds, need
from paceline.taint import Taint, parse_taints
from paceline.testing.clock import later
from paceline.testing.ledger import Row
from paceline.testing.memory import MemoryQueue, NotInMemoryError
from paceline.testing.roster import Boot, Memory

if TYPE_CHECKING:
    from paceline.database import Database
    from paceline.line import Line


class MemoryRunner:
    """One registration of a runner; a stand-in for `paceline.claims.Incarnation`."""

    def __init__(self, memory: Memory, boot: Boot) -> None:
        """Wrap what `register` made."""
        self._memory = memory
        self._boot = boot
        self.id = IncarnationId(boot.id)
        self.runner: int = boot.runner.id
        self.group: int = memory.pools[boot.runner.pool]
        self.pool: int = memory.pools[boot.runner.pool]
        self.pool_name: str = boot.runner.pool
        self.draining: bool = boot.state == "draining"
        self.lease_until: datetime = boot.lease_until

    @classmethod
    async def register(cls, queue: MemoryQueue, who: Registration) -> Self:
        """Become the current incarnation of a Runner; a live predecessor is fenced."""
        if who.group is not None:
            raise NotInMemoryError(f'the RunnerGroup "{who.group}"')
        queue.memory.require_open()
        return cls(queue.memory, queue.memory.register(who))

    async def step(self, want: int, done: Sequence[Finished] = (), *, listen: timedelta | None = None) -> Step:
        """Ack what is done and claim at most `want` jobs, in one call; nobody is woken here."""
        if listen is not None:
            raise NotInMemoryError("a wake-up")
        self._memory.require_open()
        for each in done:
            _check_json(each.result)
        refused = self._ack(done)
        if not self._boot.lives(self._memory.clock()):
            return Step("fenced", refused=refused)
        verdict: Verdict = "ok"
        if self._boot.state == "draining":
            verdict = "draining"
        elif self._boot.runner.pool in self._memory.paused:
            verdict = "paused"
        cancelled = self._cancelled()
        self._memory.tick()  # before the claim: what becomes ready now can be taken now
        now, rows = self._memory.clock(), list[Row]()
        if verdict == "ok" and want > 0:
            rows = self._memory.ledger.claim(self.id, want, lambda row: self._boot.may_claim(row, now))
        return Step(verdict, tuple(_claimed(row, now) for row in rows), refused, cancelled)

    def _ack(self, done: Sequence[Finished]) -> frozenset[JobId]:
        ledger = self._memory.ledger
        mine = self._own(each.job for each in done)
        results = {each.job.id: each.result for each in reversed(done)}
        for row in mine.values():
            row.result = results[row.id]
            ledger.finish(row, "done")
        ledger.admit({row.key for row in mine.values() if row.key is not None})
        return frozenset(each.job.id for each in done if each.job.id not in mine)

    async def fail(self, failed: Sequence[Failed], cause: str = "Failed") -> frozenset[JobId]:
        """Say which attempts failed; returns the jobs that were not ours any more."""
        self._memory.require_open()
        ledger, now = self._memory.ledger, self._memory.clock()
        mine = self._own(each.job for each in failed)
        said = {each.job.id: each for each in reversed(failed)}
        for row in mine.values():
            retry_in = said[row.id].retry_in
            if row.cancel:
                ledger.finish(row, "cancelled")
                continue
            row.tries += 1
            if retry_in is None or row.tries >= row.asked.max_tries:
                ledger.bury(row, cause, said[row.id].error)
            else:
                ledger.retry(row, max(now, later(now, retry_in)))
        ledger.admit({row.key for row in mine.values() if row.key is not None})
        return frozenset(each.job.id for each in failed if each.job.id not in mine)

    async def hand_back(self, jobs: Sequence[Claimed], cause: str = "HandedBack") -> frozenset[JobId]:
        """Give unfinished jobs back, nothing charged; returns those that were not ours any more."""
        return await self.return_claims({job.id: job.fence for job in jobs}, cause)

    async def return_claims(self, claims: Mapping[JobId, Fence], cause: str) -> frozenset[JobId]:  # noqa: ARG002
        """The same where nothing but id and fence is known."""
        self._memory.require_open()
        mine = self._memory.ledger.own(self.id, claims.items())
        self._return(mine.values())
        return frozenset(job for job in claims if job not in mine)

    def over(self, database: "Database | Line") -> NoReturn:
        """There is only one way to memory."""
        raise NotInMemoryError(f"another connection ({database.address.place})")

    async def extend(self, job: Claimed, by: timedelta) -> bool:
        """Let an attempt run until `by` from now; whether it is still ours."""
        need(timedelta(0) < by <= LONGEST, f"by {by} is out of range (more than nothing, at most {LONGEST.days} days)")
        self._memory.require_open()
        mine = self._own([job])
        for row in mine.values():
            row.deadline = later(self._memory.clock(), by)
        return bool(mine)

    async def progress(self, job: Claimed, value: JsonValue) -> bool:
        """Tell those who watch how far an attempt is; whether it is still ours."""
        text = encode(value, "progress", limit=PROGRESS_LIMIT)
        self._memory.require_open()
        mine = self._own([job])
        for row in mine.values():
            row.progress = json.loads(text)
        return bool(mine)

    async def heartbeat(self) -> Beat:
        """Keep the lease; a lease that has ended is not revived."""
        self._memory.require_open()
        now = self._memory.clock()
        if not self._boot.lives(now):
            return Beat("fenced", cause=self._boot.cause or "LeaseExpired")
        self._boot.lease_until = later(now, self._boot.lease)
        draining = self._boot.state == "draining"
        return Beat(
            "draining" if draining else "ok",
            self._cancelled(),
            leave=draining and self._boot.runner.drains,
            held=len(self._memory.ledger.held(self.id)),
        )

    async def held(self) -> dict[JobId, Fence]:
        """What it holds."""
        self._memory.require_open()
        return {row.id: row.fence for row in self._memory.ledger.held(self.id) if row.fence is not None}

    async def drain(self) -> int:
        """Claim nothing any more; returns how many jobs are still held."""
        self._memory.require_open()
        if self._boot.state == "active":
            self._boot.state = "draining"
        return len(self._memory.ledger.held(self.id))

    async def fence(self, cause: str) -> int:
        """End it as lost: what it holds is claimable with one loss charged, and its number is returned."""
        self._memory.require_open()
        held = len(self._memory.ledger.held(self.id))
        self._memory.end([self._boot], cause)
        return held

    async def deregister(self) -> int:
        """Leave; what is still held goes back without a charge, and its number is returned."""
        self._memory.require_open()
        held = self._memory.ledger.held(self.id)
        self._return(held)
        self._memory.end([self._boot], "Deregistered")
        return len(held)

    async def taint(self, taints: str, source: str = "cli") -> None:
        """Set the Runner's taints, written as in `gpu=bad:NoClaim,maint:Drain`; they survive its restarts."""
        parsed: list[Taint] = parse_taints(taints)
        self._memory.require_open()
        self._memory.taint(self._boot.runner, parsed, source)

    def _own(self, jobs: Iterable[Claimed]) -> dict[JobId, Row]:
        return self._memory.ledger.own(self.id, [(job.id, job.fence) for job in jobs])

    def _return(self, rows: Iterable[Row]) -> None:
        kept = []
        for row in rows:
            if row.cancel:
                self._memory.ledger.finish(row, "cancelled")
            else:
                kept.append(row)
        self._memory.ledger.make_ready(sorted(kept, key=lambda row: row.id))

    def _cancelled(self) -> frozenset[JobId]:
        return frozenset(row.id for row in self._memory.ledger.held(self.id) if row.cancel)


def _claimed(row: Row, now: datetime) -> Claimed:
    assert row.fence is not None
    assert row.ready_at is not None
    return Claimed(
        id=row.id,
        fence=row.fence,
        kind=row.lane.kind,
        body=row.asked.body,
        priority=row.asked.priority,
        tries=row.tries,
        losses=row.losses,
        timeout_ms=milliseconds(row.asked.timeout),
        trace=row.asked.trace,
        waited=(now - row.ready_at).total_seconds(),
    )


def _check_json(text: str | None) -> None:
    """PostgreSQL refuses what is no JSON before it acks anything."""
    try:
        json.loads("null" if text is None else text, parse_constant=_no_number)
    except ValueError as error:
        raise InvalidInputError(f"a result is no JSON: {error}") from None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")
