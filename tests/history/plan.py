"""What a run will do, drawn from a seed before it begins: the jobs, who enqueues them when, and what goes wrong when.

The same seed and size give the same plan. How the processes then take turns is the machine's affair: a replay does the
same things at the same moments of its own clock, and may still find another interleaving.
"""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from history.events import Expected
from paceline.job import NewJob

SHARED, LED = "history", "led"
"""The pools: of runners that share the work, and of a group with a leader."""
SHARED_RUNNERS = ("r1", "r2", "r3", "r4", "r5")
LED_RUNNERS = ("l1", "l2")
PRODUCERS = 3
LEASE = 6.5
"""Seconds; runner.process.SHORT."""
JOBS_PER_ROUND = 1000
ROUND_SECONDS = 9.0
"""One fault of each runner and its end; so long a producer takes for the jobs of a round."""
KIND_RATE = ("metered", 20.0, 5.0)
KEY_RATE = ("tide", 12.0, 3.0)
POOL_RATE = (LED, 40.0, 8.0)
TOLERATION = "maint"
ONE_AT_A_TIME = tuple(f"single-{n}" for n in range(8))
THREE_AT_A_TIME = tuple(f"triple-{n}" for n in range(4))


class Fault(StrEnum):
    """What can happen to a runner."""

    KILL = "is killed and comes back at once"
    KILL_AND_WAIT = "is killed and comes back after its lease"
    KILL_AND_FENCE = "is killed, and the database is told so"
    STOP = "is stopped for longer than its lease"
    CUT = "loses its connections"
    SWALLOW = "has half-open connections for longer than its lease"
    REFUSE = "is refused by the database"
    TERM = "is told to leave by a signal"
    DRAIN = "is drained through the database"
    DRAIN_TAINT = "is tainted to drain"
    NO_CLAIM = "is tainted not to claim"


class Outage(StrEnum):
    """What can happen to the server."""

    FAST = "is restarted"
    CRASH = "crashes"


@dataclass(frozen=True, slots=True)
class Blow:
    """A fault after so many quiet seconds; where it lasts, for `seconds`."""

    gap: float
    fault: Fault
    seconds: float
    early: bool
    """The seconds count from the start of the process, not from its registration."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Jobs that a producer enqueues together after a pause; `cancel` names those that it takes back at once."""

    gap: float
    first: int
    jobs: tuple[NewJob, ...]
    cancel: frozenset[int]


@dataclass(frozen=True, slots=True)
class Plan:
    """All of it. A batch is for one pool."""

    producers: tuple[tuple[tuple[str, Batch], ...], ...]
    blows: dict[str, tuple[Blow, ...]]
    outages: tuple[tuple[float, Outage], ...]
    cuts: tuple[float, ...]
    """Pauses between cuts of the producers' connections."""
    promotions: tuple[tuple[float, str], ...]
    taints: tuple[tuple[float, str, float], ...]
    """After so many seconds a Runner may not claim for so many, besides what else happens to it."""
    expected: dict[int, Expected]


def make_plan(seed: int, size: int) -> Plan:
    """Draw everything; jobs and faults have streams of their own."""
    draw = _stream(seed, "jobs")
    rounds = max(2, size // JOBS_PER_ROUND)
    seconds = rounds * ROUND_SECONDS
    expected: dict[int, Expected] = {}
    producers: list[list[tuple[str, Batch]]] = [[] for _ in range(PRODUCERS)]
    made = 0
    for number in itertools.count():
        if made == size:
            break
        producer = number % PRODUCERS
        count = min(draw.randint(1, 30), size - made)
        theme = draw.choices(("mixed", "led", "metered"), (83, 10, 7))[0]  # rates are felt by those who come together
        pool = LED if theme == "led" else SHARED
        jobs = []
        for n in range(made, made + count):
            kind = "metered" if theme == "metered" else _kind(draw)
            job, expected[n] = _job(draw, n, pool, kind, named=producer > 0, long=n < size / 2)
            jobs.append(job)
        # the first fifth comes at once, so that there is a backlog from the beginning
        pace = count * seconds * PRODUCERS / (size * 0.8)
        gap = 0.0 if made < size / 5 else draw.uniform(0.2, 1.8) * pace
        cancel = frozenset(n for n in range(made, made + count) if expected[n].cancelled)
        producers[producer].append((pool, Batch(gap, made, tuple(jobs), cancel)))
        made += count
    faults = _stream(seed, "faults")
    outages = [(faults.uniform(3, seconds / rounds), kind) for _ in range(rounds // 2) for kind in Outage]
    promotions = [(faults.uniform(2, 4), faults.choice(LED_RUNNERS)) for _ in range(int(seconds / 3))]
    taints = [
        (faults.uniform(0.3, 1), faults.choice(SHARED_RUNNERS), faults.uniform(0.3, 1.2))
        for _ in range(int(seconds / 1.4))
    ]
    return Plan(
        tuple(map(tuple, producers)), _blows(faults, rounds), tuple(outages),
        tuple(faults.uniform(1, 4) for _ in range(int(seconds / 2.5))), tuple(promotions), tuple(taints), expected,
    )  # fmt: skip


def _stream(seed: int, name: str) -> random.Random:
    return random.Random(f"{seed}/{name}")  # noqa: S311 -- a plan, not a secret


def _blows(draw: random.Random, rounds: int) -> dict[str, tuple[Blow, ...]]:
    """Dealt from shuffled decks: with two rounds every fault happens at least once."""
    runners = SHARED_RUNNERS + LED_RUNNERS
    dealt: dict[str, list[Blow]] = {runner: [] for runner in runners}
    cards = _decks(draw)
    for _ in range(rounds):
        for runner in runners:
            fault, early = next(cards), draw.random() < 0.2
            if fault in (Fault.STOP, Fault.SWALLOW, Fault.KILL_AND_WAIT):  # for these there shall be a lease to lose
                early = False
            dealt[runner].append(Blow(draw.uniform(0.5, 3), fault, draw.uniform(0.5, 2.5), early))
    return {runner: tuple(blows) for runner, blows in dealt.items()}


def _decks(draw: random.Random) -> Iterator[Fault]:
    while True:
        deck = list(Fault)
        draw.shuffle(deck)
        yield from deck


def _kind(draw: random.Random) -> str:
    return draw.choices(("quick", "slow", "blocking", "threaded"), (83, 5, 4, 8))[0]


def _job(draw: random.Random, n: int, pool: str, kind: str, *, named: bool, long: bool) -> tuple[NewJob, Expected]:
    """One job, and what must come of it. A producer without a ledger gives each a dedupe value to ask again with.

    A long one outlives a lease: its runner must let go of it.
    """
    seconds = {"slow": draw.uniform(0.5, 3.5), "blocking": draw.uniform(0.01, 0.1)}.get(kind, draw.uniform(0, 0.03))
    if kind == "slow" and long and draw.random() < 0.2:
        seconds = LEASE + draw.uniform(0.5, 2)
    fails, max_tries = 0, 5
    if kind in ("quick", "threaded") and draw.random() < 0.2:
        fails, max_tries = draw.choice(((1, 5), (2, 5), (3, 4), (9, 2), (9, 3)))
    key, limit = _key(draw) if kind in ("quick", "threaded", "slow") and pool == SHARED else (None, None)
    dedupe = f"job-{n}" if named else None
    if not named and draw.random() < 0.1:
        dedupe = f"twin-{draw.randrange(5)}"
        kind, fails, max_tries = "quick", 0, 5  # whichever of them is made, the same must come of it
    twin = not named and dedupe is not None
    job = NewJob(
        kind=kind, payload={"n": n, "seconds": seconds, "fails": fails}, priority=draw.choice((1, 5, 5, 5, 9)),
        delay=timedelta(seconds=draw.uniform(0.2, 3)) if draw.random() < 0.15 else None,
        key=key, key_limit=limit, dedupe=dedupe, tolerations=(TOLERATION,) if draw.random() < 0.05 else (),
        max_tries=max_tries, max_losses=draw.choice((1, 3, 100)),
    )  # fmt: skip
    cancelled = draw.random() < 0.02 and not twin
    if fails >= max_tries:
        return job, Expected("Failed", max_tries, cancelled)
    return job, Expected("d", fails, cancelled)


def _key(draw: random.Random) -> tuple[str | None, int | None]:
    match draw.choices(("none", "one", "three", "rated"), (75, 12, 9, 4))[0]:
        case "one":
            return draw.choice(ONE_AT_A_TIME), 1
        case "three":
            return draw.choice(THREE_AT_A_TIME), 3
        case "rated":
            return KEY_RATE[0], None
    return None, None
