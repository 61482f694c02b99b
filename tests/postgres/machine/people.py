"""The calls of producers, operators and people: cancel, taints, leaders, dead letters, limits."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from paceline.taint import parse_taints, taint_columns
from postgres.machine.calls import Call, find_twin
from postgres.machine.model import Play
from postgres.machine.world import LED, WAITING, Bucket, Key, Span, need

if TYPE_CHECKING:
    from postgres.machine.calls import Connection

RATE: Final = 0.0015
BURST: Final = 2.0
"""One permit and a half for each stretch of time that passes here."""
RUNNER: Final = "SELECT r.id FROM paceline.runner r WHERE r.name = $1"
GROUP: Final = "SELECT g.id FROM paceline.runner_group g WHERE g.name = $1"


@dataclass(frozen=True)
class Cancel(Call):
    job: int

    async def send(self, connection: "Connection") -> Any:
        return await connection.fetchval("SELECT paceline.cancel($1)", self.job)

    def play(self, play: Play, answer: str) -> None:
        job = play.world.job(self.job)
        if job is None or job.place == "purged":
            need(answer == "unknown", f"job {self.job} is nowhere, and the answer is {answer}")
        elif job.place == "running":
            need(answer == "cancelling", f"job {self.job} runs, and the answer is {answer}")
            play.world.put(replace(job, cancel=True))
        elif job.place in WAITING:
            need(answer == "cancelled", f"job {self.job} waits, and the answer is {answer}")
            play.leave(job, "cancelled")
        else:
            need(answer == "finished", f"job {self.job} is {job.place}, and the answer is {answer}")


@dataclass(frozen=True)
class SetTaints(Call):
    """The taints of a Runner, or of a group, from one source."""

    whose: str
    source: str
    taints: str

    async def send(self, connection: "Connection") -> None:
        of_group = self.whose in ("shop", LED)
        number = await connection.fetchval(GROUP if of_group else RUNNER, self.whose)
        sql = f"SELECT paceline.taint_{'group' if of_group else 'runner'}($1, $2, $3, $4, $5)"
        await connection.execute(sql, number, self.source, *taint_columns(parse_taints(self.taints)))

    def play(self, play: Play, answer: None) -> None:  # noqa: ARG002 -- nothing is told
        play.world.facts["taints", self.whose, self.source] = tuple(parse_taints(self.taints))
        pools = {self.whose, *(who.pool for who in play.world.runners.values() if who.name == self.whose)}
        for boot in play.world.boots:
            who = play.world.runners[boot.runner]
            if (
                self.whose in (who.name, who.pool)
                and boot.state == "active"
                and play.world.has_effect(who.name, "Drain")
            ):
                play.world.put(replace(boot, state="draining"))
        if LED in pools:
            play.elect()


@dataclass(frozen=True)
class Promote(Call):
    runner: str | None

    async def send(self, connection: "Connection") -> None:
        group = await connection.fetchval(GROUP, LED)
        runner = self.runner and await connection.fetchval(RUNNER, self.runner)
        await connection.execute("SELECT paceline.promote($1, $2)", group, runner)

    def play(self, play: Play, answer: None) -> None:  # noqa: ARG002 -- nothing is told
        play.elect(promote=self.runner)


@dataclass(frozen=True)
class Bring(Call):
    """Dead letters back into the queue, or out of it."""

    what: str
    jobs: tuple[int, ...]

    async def send(self, connection: "Connection") -> Any:
        return await connection.fetchval(f"SELECT paceline.{self.what}($1)", self.jobs)

    def play(self, play: Play, answer: list[int]) -> None:
        dead = {job.id for job in play.world.jobs if job.place == "dead" and job.id in self.jobs}
        need(set(answer) <= dead and len(set(answer)) == len(answer), f"{answer} came from the dead letters {dead}")
        for number in answer:
            job = play.world.job(number)
            assert job is not None
            if self.what == "purge":
                play.leave(job, "purged")
                continue
            twin = find_twin(play.world, job.pool, job.kind, job.dedupe)
            need(not twin, f"job {number} came back, and job {twin and twin.id} has the same dedupe value")
            play.arrive(job, "blocked" if job.key else "ready", tries=0, losses=0, fence=0, expires=None)
        for number in dead - set(answer) if play.alone else ():
            job = play.world.job(number)
            assert job is not None
            twin = find_twin(play.world, job.pool, job.kind, job.dedupe)
            need(twin and self.what == "redrive", f"{self.what} left job {number} among the dead")


@dataclass(frozen=True)
class Limit(Call):
    """A rate of a pool or a kind, both limits of a key, or a pause."""

    pool: str
    what: str
    on: bool
    name: str = ""
    limit: int | None = None

    async def send(self, connection: "Connection") -> None:
        rate, burst = (RATE, BURST) if self.on else (-1.0, None)
        match self.what:
            case "pause":
                await connection.execute("SELECT paceline.set_pool($1, p_paused => $2)", self.pool, self.on)
            case "pool":
                sql = "SELECT paceline.set_pool($1, p_rate => $2, p_burst => $3)"
                await connection.execute(sql, self.pool, rate, burst)
            case "kind":
                await connection.execute("SELECT paceline.set_kind($1, $2, $3, $4)", self.pool, self.name, rate, burst)
            case "key":
                sql = "SELECT paceline.set_key($1, $2, $3, $4, $5)"
                await connection.execute(
                    sql, self.pool, self.name, self.limit, *((rate, burst) if self.on else (None, None))
                )

    def play(self, play: Play, answer: None) -> None:  # noqa: ARG002 -- nothing is told
        facts = play.world.facts
        match self.what:
            case "pause":
                facts["paused", self.pool] = self.on
            case "key":
                key = play.world.key(self.pool, self.name) or Key(None)
                facts["key", self.pool, self.name] = Key(self.limit, self._bucket(key.bucket, play.now))
            case _:
                name = ("bucket", self.pool) if self.what == "pool" else ("bucket", self.pool, self.name)
                facts[name] = self._bucket(play.world.bucket(*name[1:]), play.now)

    def _bucket(self, was: Bucket | None, now: Span) -> Bucket | None:
        return (was or Bucket.full(RATE, BURST, now)) if self.on else None
