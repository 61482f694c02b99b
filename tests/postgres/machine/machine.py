"""The state machine: Hypothesis chooses calls, who makes them, and which of them stay open while others go on.

There is one rule, `play`, and scenes for it. With a rule for each scene Hypothesis would leave some of them out at
random, and half of the short sequences that there is time for would be made of one or two of them. What a scene names
by a number (a claim, a job) is chosen among what there is, so that every sequence of scenes can be played.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, ClassVar

from hypothesis import note
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from postgres.machine.calls import (
    Call,
    Claim,
    Enqueue,
    Extend,
    Fail,
    HandBack,
    OfBoot,
    Progress,
    Register,
    Step,
    Tick,
)
from postgres.machine.people import Bring, Cancel, Limit, Promote, SetTaints
from postgres.machine.scenes import A_WHILE, RUNNERS, UPSETS, Scene, scenes
from postgres.machine.stage import Stage
from postgres.machine.world import Boot, Violation


def written(how: str, boot: Boot, claims: tuple[Claim, ...]) -> Call:
    """What a runner says about jobs that it has not done."""
    match how:
        case "back":
            return HandBack(boot, claims)
        case "extend":
            return Extend(boot, claims)
        case "progress":
            return Progress(boot, claims, len(claims))
    return Fail(boot, claims, {"fail": None, "retry": 0.0, "later": 1.5 * A_WHILE}[how])


class QueueMachine(RuleBasedStateMachine):
    """Plays scenes on a stage that the test has set; each example begins with an empty queue."""

    runner: ClassVar[asyncio.Runner]
    stage: ClassVar[Stage]

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    @initialize()
    def begin(self) -> None:
        self.runner.run(self.stage.clear(RUNNERS))
        for who in RUNNERS.values():
            self.make(Register(who))

    @rule(scene=scenes())
    def play(self, scene: Scene) -> None:
        getattr(self, scene.name)(**scene.args)

    def teardown(self) -> None:
        self.runner.run(self.stage.abandon())

    def make(self, call: Call, hold: int = 0) -> None:
        self.tell(f"{call}{f', open for {hold} calls' if hold else ''}")
        self.run(self.stage.make(call, hold=hold))

    def tell(self, line: str) -> None:
        note(f"    {line}")
        self.told.append(line)

    def run(self, what: Coroutine[Any, Any, None]) -> None:
        """A failure tells the way to it: where two waiters run on at once, the same way may not lead there again."""
        try:
            self.runner.run(what)
        except Violation as violation:
            violation.add_note("after\n" + "\n".join(self.told))
            raise

    def step(self, boot: Boot, want: int, done: tuple[Claim, ...] = (), *, due: bool = False, hold: int = 0) -> None:
        self.make(Step(boot, want, done, due, self.stage.newest), hold)

    def boot(self, name: str, *, old: bool = False) -> Boot:
        """The registration of a Runner, or the one before it."""
        boots = sorted((boot for boot in self.stage.world.boots if boot.runner == name), key=lambda boot: boot.id)
        return boots[-2] if old and len(boots) > 1 else boots[-1]

    def worker(self, name: str, *, old: bool = False) -> Boot:
        """Somebody who works: the leader, or a Runner, who comes back if it is gone."""
        world = self.stage.world
        if name == "leader":
            name = "l1" if world.leader.boot is None else world.boot(world.leader.boot).runner
        boot = self.boot(name, old=old)
        if not old and (boot.state == "gone" or not boot.leased):
            self.make(Register(RUNNERS[name]))
            boot = self.boot(name)
        return boot

    def calm(self, name: str) -> Boot:
        """Somebody who works, whom nothing keeps from it."""
        boot = self.worker(name)
        pool = RUNNERS[boot.runner].pool
        for fact, taints in list(self.stage.world.facts.items()):
            if taints and fact[:2] in (("taints", boot.runner), ("taints", pool)):
                self.make(SetTaints(str(fact[1]), str(fact[2]), ""))
        if self.stage.world.paused(pool):
            self.make(Limit(pool, "pause", on=False))
        if self.boot(boot.runner).state != "active":
            self.make(Register(RUNNERS[boot.runner]))
        return self.boot(boot.runner)

    def choose(self, name: str, numbers: list[int]) -> tuple[Claim, ...]:
        """Claims to write about: the runner's own, those of others, old ones of jobs that run again, and any."""
        world, claims = self.stage.world, self.stage.claims
        running = {(job.id, job.fence): job.holder for job in world.jobs if job.place == "running"}
        own = [claim for claim, holder in running.items() if world.boot(holder or 0).runner == name]
        theirs = [claim for claim in running if claim not in own]
        old = [claim for claim in claims if claim not in running and claim[0] in {number for number, _ in running}]
        known = own[-2:] + theirs[-1:] + old[-1:] + claims[-2:]
        found = {known[number % len(known)][0]: known[number % len(known)] for number in numbers} if known else {}
        return tuple(found.values())

    def enqueue(self, pool: str, key: tuple[str | None, int | None], hold: int, **rest: Any) -> None:
        self.make(Enqueue(pool, key=key[0], limit=key[1], **rest), hold)

    def enqueue_some(self, pool: str, kind: str, levels: list[int], key: tuple[str | None, int | None]) -> None:
        for number, priority in enumerate(levels):
            self.make(Enqueue(pool, kind, priority, key=key[0], limit=key[1], max_tries=1 + number % 2))

    def claim(self, name: str, want: int, due: bool, old: bool, hold: int) -> None:
        self.step(self.worker(name, old=old), want, due=due, hold=hold)

    def ack(self, name: str, want: int, numbers: list[int], due: bool, old: bool, hold: int) -> None:
        boot = self.worker(name, old=old)
        self.step(boot, want, self.choose(boot.runner, numbers), due=due, hold=hold)

    def work(
        self,
        name: str,
        kind: str,
        levels: list[int],
        key: tuple[str | None, int | None],
        want: int,
        then: str,
        hold: int,
    ) -> None:
        """Something to do, somebody who takes it, and what becomes of it."""
        boot = self.worker(name)
        self.enqueue_some(RUNNERS[boot.runner].pool, kind, levels, key)
        self.step(boot, want, due=key[0] is not None, hold=0 if then else hold)
        claims = tuple((job.id, job.fence) for job in self.stage.world.held(boot.id))[-2:]
        if then == "ack":
            self.step(boot, 0, claims, hold=hold)
        elif then == "again" and claims:  # the same registration has the same jobs by a new claim, and acks the old one
            self.make(HandBack(boot, claims))
            self.step(boot, len(claims))
            self.step(boot, 0, claims, hold=hold)
        elif then and claims:
            self.make(written(then, boot, claims), hold)

    def race(
        self,
        name: str,
        key: tuple[str | None, int | None],
        first: str,
        second: str,
        third: str,
        commit: bool,
        both: bool,
    ) -> None:
        """Somebody holds a job, another is ready; the first call stays open while others come for the same runner."""
        boot = self.calm(name)
        self.enqueue_some(RUNNERS[boot.runner].pool, "mail", [5], key)
        self.step(boot, 1, due=True)
        self.enqueue_some(RUNNERS[boot.runner].pool, "mail", [5], key)
        for what, hold in ((first, 2 if commit else -2), (second, int(both)), (third, 0)):
            if what and (call := self.racer(boot, what, key)):
                self.make(call, hold)

    def spend(self, name: str, what: str, later: bool) -> None:
        """More to do than a bucket holds permits for, twice; the second time two runners come for them at once."""
        boot = self.calm(name)
        pool = RUNNERS[boot.runner].pool
        self.limit(pool, what, on=True, limit=3, hold=0)
        for both in (False, True):
            self.enqueue_some(pool, "mail", [5, 5], ("a", 3) if what == "key" else (None, None))
            if later:
                self.pass_time()
            self.step(boot, 1 if both else 3, due=what == "key", hold=int(both))
            if both and pool == "shop":
                self.step(self.calm("s2" if boot.runner == "s1" else "s1"), 3)
        self.limit(pool, what, on=False, limit=3, hold=0)

    def take(self, name: str, how: str) -> None:
        """Something is taken from a runner whose claim is open."""
        boot = self.calm(name)
        self.enqueue_some(RUNNERS[boot.runner].pool, "mail", [5], (None, None))
        self.step(boot, 1, hold=2)
        if call := self.racer(boot, how, (None, None)):
            self.make(call)

    def succeed(self, how: str, want: int) -> None:
        """Another becomes leader while the claim of the one before is open."""
        heirs = [self.calm(name).runner for name in ("l1", "l2")]
        leader = self.calm("leader")
        self.enqueue_some("lead", "mail", [5, 5], (None, None))
        self.step(leader, 1, hold=2)
        heir = next(name for name in heirs if name != leader.runner)
        self.make(Promote(heir) if how == "promote" else SetTaints(leader.runner, "cli", "shy:NoLead"))
        self.step(self.boot(heir), want)

    def hesitate(self, name: str, effect: str) -> None:
        """One job that a tainted runner may not take, or not yet, one that it may, and one that it may not later."""
        boot = self.calm(name)
        for tolerations, expires in (((), None), (("bad",), None), (("bad",), 0.5 * A_WHILE)):
            self.make(Enqueue(RUNNERS[boot.runner].pool, tolerations=tolerations, expires=expires))
        self.make(SetTaints(boot.runner, "cli", f"bad=disk:{effect}"))
        self.step(boot, 1)
        self.pass_time()
        self.step(boot, 3)

    def late(self, name: str, then: str) -> None:
        """The lease of somebody who works has ended, and he does not know it yet; nor does the sweep that comes."""
        boot = self.calm(name)
        self.enqueue_some(RUNNERS[boot.runner].pool, "mail", [5, 5], (None, None))
        self.step(boot, 1)
        self.make(OfBoot("end lease", boot))
        self.make(OfBoot("heartbeat", boot))
        if call := self.racer(boot, then, (None, None)):
            self.make(call, 1)
        self.make(Tick())

    def stranded(self, levels: list[int]) -> None:
        """A job that nobody can claim has the permit of a key, and others come that somebody can."""
        leader = self.calm("leader")
        self.make(Enqueue("lead", tags=("gpu",), key="b", limit=1))
        self.make(Tick())
        self.enqueue_some("lead", "mail", levels, ("b", None))
        self.make(Tick())
        self.step(leader, 2)

    def racer(self, boot: Boot, what: str, key: tuple[str | None, int | None]) -> Call | None:
        held = self.stage.world.held(boot.id)
        claims = tuple((job.id, job.fence) for job in held)[-2:]
        match what:
            case "claim" | "ack" | "ack and claim":
                return Step(boot, int(what != "ack"), claims if what != "claim" else (), newest=self.stage.newest)
            case "cancel":
                return Cancel(held[-1].id) if held else None
            case "register":
                return Register(RUNNERS[boot.runner])
            case "tick":
                return Tick()
            case "redrive":
                return Bring("redrive", tuple(job.id for job in self.stage.world.jobs))
            case "enqueue":
                return Enqueue(RUNNERS[boot.runner].pool, key=key[0], limit=3 if key[0] else None, dedupe="x")
            case "promote":
                return Promote("l2" if boot.runner == "l1" else "l1")
            case "NoClaim" | "PreferNoClaim" | "Drain":
                return SetTaints(boot.runner, "cli", f"bad=disk:{what}")
        if what in UPSETS:
            return OfBoot(what, boot)
        return written(what, boot, claims) if claims else None

    def write(self, name: str, numbers: list[int], how: str, hold: int) -> None:
        boot = self.worker(name)
        if claims := self.choose(boot.runner, numbers):
            self.make(written(how, boot, claims), hold)

    def cancel(self, number: int, hold: int) -> None:
        jobs = [job.id for job in self.stage.world.jobs]
        self.make(Cancel(jobs[-1 - number % len(jobs)] if jobs else 1), hold)

    def tick(self, hold: int) -> None:
        self.make(Tick(), hold)

    def upset(self, name: str, what: str, old: bool, hold: int) -> None:
        boot = self.boot(name, old=old)
        self.make(Register(RUNNERS[name]) if what == "register" else OfBoot(what, boot), hold)

    def taint(self, whose: str, source: str, taints: str, hold: int) -> None:
        self.make(SetTaints(whose, source, taints), hold)

    def promote(self, name: str | None, hold: int) -> None:
        self.make(Promote(name), hold)

    def bring(self, what: str, hold: int) -> None:
        self.make(Bring(what, tuple(job.id for job in self.stage.world.jobs)), hold)

    def limit(self, pool: str, what: str, on: bool, limit: int, hold: int) -> None:
        name = {"kind": "mail", "key": "a"}.get(what, "")
        self.make(Limit(pool, what, on, name, limit if what == "key" else None), hold)

    def pass_time(self) -> None:
        self.tell(f"{A_WHILE:.0f} seconds pass")
        self.run(self.stage.pass_time(A_WHILE))

    def end(self, number: int, commit: bool) -> None:
        open_ones = [flight for flight in self.stage.flights if flight.answered]
        if open_ones:
            chosen = open_ones[number % len(open_ones)]
            self.tell(f"{'commit' if commit else 'roll back'} {chosen}")
            self.run(self.stage.finish(chosen, commit=commit))
