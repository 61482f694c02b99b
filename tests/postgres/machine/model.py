"""The model of the queue: plays a call on the facts, guided by the answer where the promises leave a choice.

Written from the promises, not from the SQL. Where the database may choose (which job of several lanes, which blocked
job of a key, whether housekeeping passes by what somebody else has locked), the model looks at what it chose, judges
whether that is allowed, and goes the same way; everything else it works out for itself. In the end both must be in the
same state.

`alone` says that no other transaction was open and nothing was waited for. Only then is it wrong to leave something
out: to claim less than there is, a lower priority first, the younger before the older, to admit nobody to a key with
room, to keep a leader that cannot lead. With others under way the weaker rules hold: nothing is claimed that is not
ready and allowed, no key or rate is exceeded, fences grow, losses and tries are charged as promised, nothing is lost.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from postgres.machine.seen import Seen
from postgres.machine.world import LEADER, LED, WAITING, Boot, Job, Leader, Place, Span, Turn, World, need

RETURNED = 30.0
"""So many seconds a Runner that came back must be active before it ousts a younger leader."""


@dataclass
class Play:
    """One call on the way from the facts before it to what its transaction sees after it."""

    world: World
    seen: Seen
    now: Span
    turn: Turn
    alone: bool
    waited: bool
    claimed: frozenset[int] = field(default_factory=frozenset)

    def own(self, boot: int, claim: tuple[int, int]) -> Job | None:
        """The job of a claim, if it is still that claim's: same holder, same fence."""
        job = self.world.job(claim[0])
        mine = job and job.place == "running" and job.holder == boot and job.fence == claim[1]
        return job if mine else None

    def refuses(self, boot: int, claims: Iterable[tuple[int, int]], told: Iterable[int] | None) -> list[Job]:
        """The jobs of these claims that are still theirs; the writer must have been told of all others."""
        claims = list(claims)
        mine = [job for job in (self.own(boot, claim) for claim in claims) if job]
        old = {number for number, _ in claims} - {job.id for job in mine}
        need(set(told or ()) == old, f"refused were {sorted(told or ())} and not {sorted(old)}")
        return mine

    def arrive(self, job: Job, place: Place, **more: int | None) -> Job:
        """Take a new position in line."""
        ready = self.now if place == "ready" else None
        came = replace(job, place=place, holder=None, since=self.turn, ready=ready, due=None)
        self.world.put(replace(came, **more))  # type: ignore[arg-type]
        return came

    def leave(self, job: Job, place: Place, **more: int) -> None:
        """End; what is over holds no permit and no position."""
        self.world.put(replace(job, place=place, holder=None, **more))  # type: ignore[arg-type]

    def lose(self, boot: Boot) -> int:
        """A runner is gone: one loss for each of its jobs, no try; too many are poison."""
        self.world.put(replace(boot, state="gone"))
        held = self.world.held(boot.id)
        for job in held:
            if job.cancel:
                self.leave(job, "cancelled")
            elif job.losses >= job.max_losses:
                self.leave(job, "dead", losses=job.losses + 1)
            else:
                self.arrive(job, "ready", losses=job.losses + 1)
        return len(held)

    def goes_to(self, job: Job) -> Place:
        """Where this call leaves a job, before its own claim."""
        return "ready" if job.id in self.claimed else self.seen.place(job.id)

    def admit(self, keys: Iterable[tuple[str, str]]) -> None:
        """Blocked jobs become ready as far as their keys' limits and buckets allow."""
        for pool, name in sorted(set(keys)):
            key = self.world.key(pool, name)
            assert key is not None
            blocked = [job for job in self.world.jobs if (job.pool, job.key, job.place) == (pool, name, "blocked")]
            chosen = [job for job in blocked if self.goes_to(job) == "ready"]
            left = [job for job in blocked if job not in chosen]
            for job in chosen:
                self.arrive(job, "ready")
            users = self.world.users(pool, name)
            ready = sum(job.place == "ready" for job in users)
            if chosen and key.limit is not None:
                need(len(users) <= key.limit, f"key {name} of {pool} has {len(users)} permits of {key.limit} in use")
            if chosen and key.bucket:
                most = key.bucket.most(self.now)
                need(ready <= most, f"key {name} of {pool} has {ready} jobs ready and {most} permits in its bucket")
            if not self.alone:
                continue
            room = key.limit is None or len(users) < key.limit
            if room and (key.bucket is None or ready < key.bucket.least(self.now)):
                need(not left, f"key {name} of {pool} has room, and job {left and left[0].id} is not admitted")
            for job in chosen:
                for other in left:
                    if job.lane == other.lane:
                        first = other.priority > job.priority or (other.priority == job.priority and other.before(job))
                        need(not first, f"job {job.id} was admitted before job {other.id}")

    def tick(self) -> None:
        """The housekeeping: leases, due jobs, what has expired, permits held for nothing, keys, leader."""
        for boot in self.world.boots:
            if boot.state != "gone" and not boot.leased:
                if self.seen.boots[boot.id] == "gone":
                    self.lose(boot)
                else:
                    need(not self.alone, f"the lease of registration {boot.id} has ended, and it was not swept")
        for job in self.world.jobs:
            if job.place == "scheduled" and job.due and self.goes_to(job) in ("ready", "blocked", "running"):
                need(job.due.maybe_by(self.now), f"job {job.id} is not due yet")
                self.arrive(job, "blocked" if job.key else "ready")
        for job in self.world.jobs:
            if job.place in WAITING and job.expires and self.goes_to(job) == "expired":
                need(job.expires.maybe_by(self.now), f"job {job.id} has not expired yet")
                self.leave(job, "expired")
        self._give_permits_back()
        self.admit(self.world.keys)
        self.elect()
        if self.alone:
            self._nothing_is_left_undone()

    def _give_permits_back(self) -> None:
        for job in self.world.jobs:
            if job.key and job.place == "ready":
                renewed = job.since != self.turn and self.seen.jobs[job.id].seq != job.seq
                if renewed or self.goes_to(job) == "blocked":
                    need(not (self.alone and self.world.served(job)), f"job {job.id} lost its permit for nothing")
                    self.world.put(replace(job, place="blocked", ready=None))

    def _nothing_is_left_undone(self) -> None:
        for job in self.world.jobs:
            late = job.place == "scheduled" and job.due and job.due.surely_by(self.now)
            need(not late, f"job {job.id} is due and was not released")
            over = job.place in WAITING and job.expires and job.expires.surely_by(self.now)
            need(not over, f"job {job.id} has expired and still waits")
        for pool, name in self.world.keys:
            of_key = [job for job in self.world.jobs if (job.pool, job.key) == (pool, name)]
            idle = any(job.place == "ready" and not self.world.served(job) for job in of_key)
            held_up = any(job.place == "blocked" and self.world.served(job) for job in of_key)
            need(not (idle and held_up), f"a job that nobody can claim keeps the permit of key {name} of {pool}")

    def elect(self, promote: str | bool | None = False) -> None:
        """Somebody else may lead now. `promote`: that Runner shall (None: nobody is promoted any more)."""
        was, found = self.world.leader, self.seen.leader
        wish = was.promoted if promote is False else promote
        wish = wish if isinstance(wish, str) else None
        head = None if found.boot is None else self.world.boot(found.boot).runner
        if found.boot == was.boot:
            need(found.epoch == was.epoch, f"epoch {found.epoch} began, and the leader is the same")
            kept = wish if promote is False or wish == head else None
        else:
            need(found.epoch > was.epoch, f"another leader came without a new epoch after {was.epoch}")
            kept = wish if wish == head else None
        self.world.facts[LEADER] = Leader(found.boot, found.epoch, kept)
        if self.alone:
            allowed = self._candidates(was.boot, wish)
            need(
                found.boot in allowed,
                f"registration {found.boot} leads, and it should be one of {sorted(allowed, key=str)}",
            )

    def _candidates(self, leads: int | None, promoted: str | None) -> set[int | None]:
        eligible = [
            boot
            for boot in self.world.boots
            if self.world.runners[boot.runner].pool == LED
            and boot.state == "active"
            and boot.leased
            and not self.world.has_effect(boot.runner, "NoLead", "NoClaim", "Drain")
        ]
        if wished := [boot.id for boot in eligible if boot.runner == promoted]:
            return {*wished}
        eligible.sort(key=lambda boot: list(self.world.runners).index(boot.runner))
        current = [boot for boot in eligible if boot.id == leads]
        allowed: set[int | None] = set()
        for boot in eligible:  # the oldest first; one that came back must have been there for some time
            ripe = boot.registered.after(RETURNED)
            if not current or boot.id == leads or ripe.surely_by(self.now):
                return {*allowed, boot.id}
            if ripe.maybe_by(self.now):
                allowed.add(boot.id)
        return allowed or {None}

    def settle(self) -> World:
        """Take over the positions of those that moved in line; nobody else may have."""
        for job in self.world.jobs:
            if job.place in ("ready", "blocked", "running") and job.id in self.seen.jobs:
                seq = self.seen.jobs[job.id].seq
                need(seq == job.seq or job.since == self.turn, f"job {job.id} was moved in line")
                self.world.put(replace(job, seq=seq))
        return self.world
