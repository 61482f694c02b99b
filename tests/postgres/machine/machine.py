"""The state machine: Hypothesis chooses calls, who makes them, and which of them stay open while others go on.

There is one rule, `play`, and scenes for it. With a rule for each scene Hypothesis would leave some of them out at
random, and half of the short sequences that there is time for would be made of one or two of them. What a scene names
by a number (a claim, a job) is chosen among what there is, so that every sequence of scenes can be played.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from hypothesis import note
from hypothesis import strategies as st
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
from postgres.machine.stage import Stage
from postgres.machine.world import Boot, Runner

RUNNERS: Final = {
    who.name: who
    for who in (
        Runner("s1", "shop", ("*",), ("gpu",), external=False),
        Runner("s2", "shop", ("mail",), (), external=True),
        Runner("l1", "lead", ("*",), (), external=False),
        Runner("l2", "lead", ("*",), (), external=False),
    )
}
A_WHILE: Final = 1000.0
"""Seconds; delays and lives of jobs are 1.5 or 2.5 times as long, so that the true clock decides nothing."""
TAINTS: Final = ["", "", "bad=disk:NoClaim", "bad=disk:PreferNoClaim", "shy:NoLead", "leave:Drain"]
WRITES: Final = ["fail", "retry", "later", "back", "extend", "progress"]
UPSETS: Final = ["drain", "deregister", "fence", "heartbeat", "end lease", "end lease", "register", "register"]
RACERS: Final = [
    *("claim", "claim", "claim", "ack", "ack and claim", "cancel", *WRITES, *UPSETS, "tick", "redrive", "enqueue"),
    *("NoClaim", "PreferNoClaim", "Drain", "promote"),
]
"""What several do to one runner at once."""

pools = st.sampled_from(["shop", "shop", "lead"])
workers = st.sampled_from(["s1", "s1", "s2", "leader", "leader", "l1", "l2"])
kinds = st.sampled_from(["mail", "mail", "scan"])
priorities = st.sampled_from([5, 5, 9])
keys = st.sampled_from([(None, None), (None, None), ("a", None), ("a", 2), ("b", 1)])
picks = st.lists(st.integers(0, 5), min_size=1, max_size=2, unique=True)
seldom = st.sampled_from([False, False, False, True])
holds = st.sampled_from([0, 0, 0, 0, 0, 1, 2, 3, -2])
"""For how many calls of others a transaction stays open; one with a negative number is rolled back then."""

SCENES: Final[dict[str, tuple[int, dict[str, st.SearchStrategy[Any]]]]] = {
    "enqueue": (
        3,
        {
            "pool": pools,
            "kind": kinds,
            "priority": priorities,
            "tags": st.sampled_from([(), (), ("gpu",)]),
            "tolerations": st.sampled_from([(), (), ("bad",), ("bad=disk:NoClaim",)]),
            "key": keys,
            "delay": st.sampled_from([None, None, None, 1.5 * A_WHILE]),
            "expires": st.sampled_from([None, None, None, 2.5 * A_WHILE]),
            "dedupe": st.sampled_from([None, None, "x"]),
            "max_tries": st.integers(1, 2),
            "max_losses": st.integers(0, 1),
            "hold": holds,
        },
    ),
    "enqueue_some": (
        2,
        {"pool": pools, "kind": kinds, "levels": st.lists(priorities, min_size=2, max_size=3), "key": keys},
    ),
    "claim": (4, {"name": workers, "want": st.integers(1, 3), "due": seldom, "old": seldom, "hold": holds}),
    "ack": (
        4,
        {"name": workers, "want": st.integers(0, 2), "numbers": picks, "due": seldom, "old": seldom, "hold": holds},
    ),
    "work": (
        4,
        {
            "name": workers,
            "kind": kinds,
            "levels": st.lists(priorities, min_size=1, max_size=3),
            "key": keys,
            "want": st.integers(1, 2),
            "then": st.sampled_from(["", "", "ack", *WRITES]),
            "hold": holds,
        },
    ),
    "race": (
        5,
        {
            "name": workers,
            "key": keys,
            "first": st.sampled_from(RACERS),
            "second": st.sampled_from(RACERS),
            "third": st.sampled_from(["", "", *RACERS]),
            "commit": st.sampled_from([True, True, False]),
        },
    ),
    "write": (2, {"name": workers, "numbers": picks, "how": st.sampled_from(WRITES), "hold": holds}),
    "cancel": (1, {"number": st.integers(0, 20), "hold": holds}),
    "tick": (2, {"hold": holds}),
    "upset": (3, {"name": st.sampled_from([*RUNNERS]), "what": st.sampled_from(UPSETS), "old": seldom, "hold": holds}),
    "taint": (
        2,
        {
            "whose": st.sampled_from([*RUNNERS, "shop", "lead"]),
            "source": st.sampled_from(["annotation", "cli"]),
            "taints": st.sampled_from(TAINTS),
            "hold": holds,
        },
    ),
    "promote": (1, {"name": st.sampled_from([None, "l1", "l2", "l2"]), "hold": holds}),
    "bring": (1, {"what": st.sampled_from(["redrive", "redrive", "purge"]), "hold": holds}),
    "limit": (
        2,
        {
            "pool": pools,
            "what": st.sampled_from(["pause", "pool", "kind", "key"]),
            "on": st.booleans(),
            "limit": st.integers(1, 3),
            "hold": holds,
        },
    ),
    "pass_time": (1, {}),
    "end": (2, {"number": st.integers(0, 2), "commit": st.sampled_from([True, True, False])}),
}
"""How often, and with what."""


@dataclass(frozen=True, repr=False)
class Scene:
    name: str
    args: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.args.items())})"


def scenes() -> st.SearchStrategy[Scene]:
    often = [name for name, (weight, _) in SCENES.items() for _ in range(weight)]
    return st.sampled_from(often).flatmap(
        lambda name: st.fixed_dictionaries(SCENES[name][1]).map(lambda args: Scene(name, args))
    )


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
        note(f"    {call}{f', open for {hold} calls' if hold else ''}")
        self.runner.run(self.stage.make(call, hold=hold))

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

    def choose(self, name: str, numbers: list[int]) -> tuple[Claim, ...]:
        """Claims to write about: mostly the runner's own, sometimes stale or another's."""
        world = self.stage.world
        running = [job for job in world.jobs if job.place == "running" and job.holder is not None]
        own = [(job.id, job.fence) for job in running if world.boot(job.holder or 0).runner == name]
        known = own + self.stage.claims
        found = {known[number % len(known)][0]: known[number % len(known)] for number in numbers} if known else {}
        return tuple(found.values())

    def enqueue(self, pool: str, key: tuple[str | None, int | None], hold: int, **rest: Any) -> None:
        self.make(Enqueue(pool, key=key[0], limit=key[1], **rest), hold)

    def enqueue_some(self, pool: str, kind: str, levels: list[int], key: tuple[str | None, int | None]) -> None:
        for priority in levels:
            self.make(Enqueue(pool, kind, priority, key=key[0], limit=key[1]))

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
        elif then and claims:
            self.make(written(then, boot, claims), hold)

    def race(
        self, name: str, key: tuple[str | None, int | None], first: str, second: str, third: str, commit: bool
    ) -> None:
        """Somebody holds a job, another is ready; the first call stays open while others come for the same runner."""
        boot = self.worker(name)
        self.enqueue_some(RUNNERS[boot.runner].pool, "mail", [5], key)
        self.step(boot, 1, due=True)
        self.enqueue_some(RUNNERS[boot.runner].pool, "mail", [5], key)
        for what, hold in ((first, 2 if commit else -2), (second, 1), (third, 0)):
            if what and (call := self.racer(boot, what, key)):
                self.make(call, hold)

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
        note(f"    {A_WHILE:.0f} seconds pass")
        self.runner.run(self.stage.pass_time(A_WHILE))

    def end(self, number: int, commit: bool) -> None:
        open_ones = [flight for flight in self.stage.flights if flight.answered]
        if open_ones:
            chosen = open_ones[number % len(open_ones)]
            note(f"    {'commit' if commit else 'roll back'} {chosen}")
            self.runner.run(self.stage.finish(chosen, commit=commit))
