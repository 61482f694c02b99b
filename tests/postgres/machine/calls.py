"""The calls of producers and runners: how each is sent, and what the model says about its answer."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from postgres.machine import choice
from postgres.machine.choice import Taken
from postgres.machine.model import Play
from postgres.machine.world import LED, WAITING, Boot, Job, Key, Runner, World, need

if TYPE_CHECKING:
    import asyncpg

    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

Claim: TypeAlias = tuple[int, int]
"""A job and the fence with which it was claimed."""
LEASE: Final = 1e7
"""No lease ends by itself: that is a move of its own."""

DUE: Final = """
UPDATE paceline.tick SET next_at = '-infinity', mark_at = '-infinity', review_at = '-infinity'
 WHERE one = ANY (ARRAY(SELECT t.one FROM paceline.tick t FOR UPDATE SKIP LOCKED))"""
NOT_DUE: Final = "UPDATE paceline.tick SET next_at = 'infinity' WHERE next_at < 'infinity'"
ENQUEUE: Final = """
SELECT id, created FROM paceline.enqueue($1, ARRAY[$2::text], ARRAY['{}'::jsonb], ARRAY[$3::smallint],
    p_tags => ARRAY[$4::text], p_tolerations => ARRAY[$5::text], p_key => ARRAY[$6::text],
    p_key_limit => ARRAY[$7::integer], p_delay => ARRAY[$8::float8], p_ttl => ARRAY[$9::float8],
    p_dedupe => ARRAY[$10::text], p_max_tries => ARRAY[$11::smallint], p_max_losses => ARRAY[$12::smallint])"""
REGISTER: Final = """
SELECT incarnation FROM paceline.register($1, $2, $3, $4, p_lease => $5, p_namespace => 'ci', p_group => $2,
                                          p_external => $6)"""
END_LEASE: Final = (
    "UPDATE paceline.incarnation SET lease_until = '-infinity' WHERE id = $1 AND state <> 'z' RETURNING id"
)


def taken(row: "asyncpg.Record") -> Taken:
    columns = [row[name] or () for name in ("kinds", "priorities", "tries", "losses")]
    ids, refused, cancelled = [tuple(row[name] or ()) for name in ("ids", "refused", "cancelled")]
    return Taken(row["verdict"], refused, cancelled, row["fence"], ids, tuple(zip(*columns, strict=True)))


@dataclass(frozen=True)
class Call:
    """One call in one transaction."""

    async def send(self, connection: "Connection") -> Any:
        raise NotImplementedError

    def play(self, play: Play, answer: Any) -> None:
        """Bring the facts where the answer says they are, or say what is wrong with it."""
        raise NotImplementedError

    def binds(self, world: World, answer: Any) -> None:
        """What must still be so when it commits."""


@dataclass(frozen=True)
class Enqueue(Call):
    pool: str
    kind: str = "mail"
    priority: int = 5
    tags: tuple[str, ...] = ()
    tolerations: tuple[str, ...] = ()
    key: str | None = None
    limit: int | None = None
    delay: float | None = None
    expires: float | None = None
    dedupe: str | None = None
    max_tries: int = 2
    max_losses: int = 1

    async def send(self, connection: "Connection") -> tuple[int, bool]:
        row = await connection.fetchrow(
            ENQUEUE, self.pool, self.kind, self.priority, ",".join(self.tags), ",".join(self.tolerations), self.key,
            self.limit, self.delay, self.expires, self.dedupe, self.max_tries, self.max_losses,
        )  # fmt: skip
        assert row is not None
        return row["id"], row["created"]

    def play(self, play: Play, answer: tuple[int, bool]) -> None:
        number, created = answer
        if self.key is not None:
            key = play.world.key(self.pool, self.key) or Key(1)
            play.world.facts["key", self.pool, self.key] = replace(key, limit=self.limit or key.limit)
        twin = find_twin(play.world, self.pool, self.kind, self.dedupe)
        if not created:
            need(twin and twin.id == number, f"job {number} was in the way, and it is not live with that value")
            return
        need(not twin, f"job {number} was made, and job {twin and twin.id} has the same dedupe value")
        job = Job(
            number, self.pool, self.kind, self.tags, self.tolerations, self.priority, self.key, self.dedupe,
            self.max_tries, self.max_losses, "scheduled", play.turn,
            due=None if self.delay is None else play.now.after(self.delay),
            expires=None if self.expires is None else play.now.after(self.expires),
        )  # fmt: skip
        if self.delay is None:
            play.arrive(job, "blocked" if self.key else "ready")
        else:
            play.world.put(job)


def find_twin(world: World, pool: str, kind: str, dedupe: str | None) -> Job | None:
    live = (job for job in world.jobs if job.place in (*WAITING, "running"))
    return next((job for job in live if dedupe and (job.pool, job.kind, job.dedupe) == (pool, kind, dedupe)), None)


@dataclass(frozen=True)
class Step(Call):
    """Ack and claim; the housekeeping may be due in between."""

    boot: Boot
    want: int
    done: tuple[Claim, ...] = ()
    due: bool = False
    newest: int = field(default=0, repr=False)
    """The highest fence that was given before this was sent."""

    async def send(self, connection: "Connection") -> Taken:
        if self.due:
            await connection.execute(DUE)
        ids, fences = [list(column) for column in zip(*self.done, strict=True)] or ([], [])
        row = await connection.fetchrow(
            "SELECT * FROM paceline.step($1, $2, $3, $4)", self.boot.id, self.want, ids, fences
        )
        assert row is not None
        return taken(row)

    def play(self, play: Play, answer: Taken) -> None:
        play.claimed = frozenset(answer.ids)
        boot = play.world.boot(self.boot.id)
        right = choice.verdict(play.world, boot)
        mine = play.refuses(boot.id, self.done, answer.refused)
        for job in mine:
            play.leave(job, "done")
        play.admit((job.pool, job.key) for job in mine if job.key)
        if not play.waited and answer.verdict != "fenced":
            wanted = {job.id for job in play.world.held(boot.id) if job.cancel}
            need(set(answer.cancelled) == wanted, f"told to cancel {answer.cancelled} and not {wanted}")
        if play.seen.ticked:  # it may end the caller, or elect another: that counts before the claim
            play.tick()
            boot = play.world.boot(self.boot.id)
            right = choice.after_housekeeping(play.world, boot, right)
        # who waited behind its gate may not have seen a pause or the end of a lease, which nobody takes a lock for
        binding = not play.waited or boot.state != "active" or right == "standby"
        need(answer.verdict == right or not binding, f"the verdict is {answer.verdict} and should be {right}")
        if answer.verdict == "ok":
            choice.claim(play, boot, self.want, answer, self.newest, play.world.leader.boot)
        else:
            need(not answer.ids, f"claimed {answer.ids} with the verdict {answer.verdict}")

    def binds(self, world: World, answer: Taken) -> None:
        for number in answer.ids:
            if job := world.job(number):
                choice.may_hold(world, world.boot(self.boot.id), job, world.leader.boot)


@dataclass(frozen=True)
class Fail(Call):
    boot: Boot
    claims: tuple[Claim, ...]
    retry_in: float | None

    async def send(self, connection: "Connection") -> Any:
        ids, fences = zip(*self.claims, strict=True)
        count = len(ids)
        return await connection.fetchval(
            "SELECT paceline.fail($1, $2, $3, $4, $5)",
            self.boot.id,
            ids,
            fences,
            ["boom"] * count,
            [self.retry_in] * count,
        )

    def play(self, play: Play, answer: Any) -> None:
        mine = play.refuses(self.boot.id, self.claims, answer)
        for job in mine:
            if job.cancel:
                play.leave(job, "cancelled")
            elif self.retry_in is None or job.tries + 1 >= job.max_tries:
                play.leave(job, "dead", tries=job.tries + 1)
            else:
                due = play.now.after(self.retry_in)
                play.world.put(replace(job, place="scheduled", holder=None, ready=None, due=due, tries=job.tries + 1))
        play.admit((job.pool, job.key) for job in mine if job.key)


@dataclass(frozen=True)
class HandBack(Call):
    boot: Boot
    claims: tuple[Claim, ...]

    async def send(self, connection: "Connection") -> Any:
        return await connection.fetchval(
            "SELECT paceline.hand_back($1, $2, $3)", self.boot.id, *zip(*self.claims, strict=True)
        )

    def play(self, play: Play, answer: Any) -> None:
        hand_back(play, play.refuses(self.boot.id, self.claims, answer))


def hand_back(play: Play, jobs: list[Job]) -> None:
    """Nothing is charged; what was to be cancelled is."""
    for job in jobs:
        if job.cancel:
            play.leave(job, "cancelled")
        else:
            play.arrive(job, "ready")


@dataclass(frozen=True)
class Extend(Call):
    boot: Boot
    claims: tuple[Claim, ...]

    async def send(self, connection: "Connection") -> Any:
        ids, fences = zip(*self.claims, strict=True)
        return await connection.fetchval(
            "SELECT paceline.extend($1, $2, $3, $4)", self.boot.id, ids, fences, [60.0] * len(ids)
        )

    def play(self, play: Play, answer: Any) -> None:
        play.refuses(self.boot.id, self.claims, answer)


@dataclass(frozen=True)
class Progress(Call):
    boot: Boot
    claims: tuple[Claim, ...]
    value: int

    async def send(self, connection: "Connection") -> Any:
        ids, fences = zip(*self.claims, strict=True)
        return await connection.fetchval(
            "SELECT paceline.set_progress($1, $2, $3, $4)", self.boot.id, ids, fences, [str(self.value)] * len(ids)
        )

    def play(self, play: Play, answer: Any) -> None:
        for job in play.refuses(self.boot.id, self.claims, answer):
            play.world.put(replace(job, progress=self.value))


@dataclass(frozen=True)
class Tick(Call):
    async def send(self, connection: "Connection") -> Any:
        await connection.execute(DUE)
        return await connection.fetchval("SELECT paceline.tick()")

    def play(self, play: Play, answer: bool) -> None:
        need(answer == play.seen.ticked, "the housekeeping was done, or not, and said otherwise")
        need(answer or not play.alone, "the housekeeping was due and nobody did it")
        if answer:
            play.tick()


@dataclass(frozen=True)
class Register(Call):
    who: Runner

    async def send(self, connection: "Connection") -> Any:
        who = self.who
        return await connection.fetchval(REGISTER, who.name, who.pool, who.kinds, who.tags, LEASE, who.external)

    def play(self, play: Play, answer: int) -> None:
        for boot in play.world.boots:
            if boot.runner == self.who.name and boot.state == "active":
                play.lose(boot)  # the newest registration wins
        state = "draining" if play.world.has_effect(self.who.name, "Drain") else "active"
        play.world.put(Boot(answer, self.who.name, "draining" if state == "draining" else "active", play.now))
        if self.who.pool == LED:
            play.elect()


@dataclass(frozen=True)
class OfBoot(Call):
    """What happens to a registration: drain, deregister, fence, heartbeat, or the end of its lease."""

    what: str
    boot: Boot

    async def send(self, connection: "Connection") -> Any:
        match self.what:
            case "fence":
                return await connection.fetchval("SELECT paceline.fence_incarnation($1, 'Error')", self.boot.id)
            case "heartbeat":
                return await connection.fetchval("SELECT verdict FROM paceline.heartbeat($1)", self.boot.id)
            case "end lease":
                return await connection.fetchval(END_LEASE, self.boot.id)
        return await connection.fetchval(f"SELECT paceline.{self.what}($1)", self.boot.id)

    def play(self, play: Play, answer: Any) -> None:
        boot = play.world.boot(self.boot.id)
        held = play.world.held(boot.id)
        match self.what:
            case "drain":
                need(answer == len(held), f"it holds {len(held)} jobs, and the answer is {answer}")
                if boot.state == "active":
                    play.world.put(replace(boot, state="draining"))
            case "deregister" if boot.state != "gone":
                need(answer == len(held), f"it held {len(held)} jobs, and the answer is {answer}")
                hand_back(play, held)
                play.world.put(replace(boot, state="gone"))
            case "fence" if boot.state != "gone":
                need(answer == play.lose(boot), f"it held {len(held)} jobs, and the answer is {answer}")
            case "heartbeat":
                right = {"gone": "fenced", "draining": "draining", "active": "ok"}[
                    boot.state if boot.leased else "gone"
                ]
                need(answer == right, f"the heartbeat's verdict is {answer} and should be {right}")
            case "end lease" if boot.state != "gone":
                play.world.put(replace(boot, leased=False))
        if boot.id == play.world.leader.boot and self.what in ("drain", "deregister", "fence"):
            play.elect()
