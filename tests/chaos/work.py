"""The jobs of a run: drawn from the seed one after the other, each with what must come of it."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from chaos.plan import stream
from history.events import Expected
from paceline.job import NewJob

SHARED, LED, FIXED = "shared", "led", "fixed"
"""The pools, and the groups that serve them: one that follows its queue, one with a leader, one of a fixed size."""
POOLS = (SHARED, LED, FIXED)
KIND_RATE = ("metered", 6.0, 3.0)
KEY_RATE = ("tide", 5.0, 2.0)
"""Of each pool: a kind and a key are of one."""
POOL_RATE = (LED, 15.0, 5.0)
EACH_MINUTE = "each-minute"
"""The entry of the schedule."""
CRON = -1
"""What jobs have for a number that no producer made."""
ONE_AT_A_TIME = tuple(f"single-{n}" for n in range(4))
TWO_AT_A_TIME = tuple(f"double-{n}" for n in range(2))


@dataclass(frozen=True, slots=True)
class Planned:
    """A job and where it goes."""

    n: int
    pool: str
    job: NewJob
    expected: Expected


@dataclass(frozen=True, slots=True)
class Batch:
    """Jobs for one pool, after a pause."""

    gap: float
    pool: str
    jobs: tuple[Planned, ...]


def batches(seed: int, name: str, numbers: "itertools.count[int]", pace: float) -> Iterator[Batch]:
    """For ever; about so many jobs a second, in tides: for half of the time next to nothing comes."""
    draw = stream(seed, f"producer-{name}")
    for number in itertools.count():
        count = draw.randint(1, 8)
        pool = draw.choices(POOLS, (50, 25, 25))[0]
        metered = draw.random() < 0.12
        jobs = tuple(_planned(draw, next(numbers), pool, metered=metered) for _ in range(count))
        tide = 0.55 if number // 12 % 2 == 0 else 2.2
        yield Batch(tide * draw.uniform(0.4, 1.6) * count / pace, pool, jobs)


def calls(seed: int, name: str, numbers: "itertools.count[int]") -> Iterator[tuple[float, Planned, bool]]:
    """What a caller asks for, after how long, and whether with an idempotency key."""
    draw = stream(seed, f"caller-{name}")
    while True:
        n, fails = next(numbers), int(draw.random() < 0.1)
        seconds = draw.uniform(0, 0.3) if draw.random() < 0.9 else draw.uniform(1, 3)
        keyed = draw.random() < 0.5
        tries = 5 if keyed else 1
        expected = Expected("Failed", 1, True) if fails >= tries else Expected("d", fails, True)
        job = NewJob(kind="answer", payload={"n": n, "seconds": seconds, "fails": fails})
        yield draw.uniform(0.5, 2.5), Planned(n, draw.choice((SHARED, FIXED)), job, expected), keyed


def deadly(n: int) -> Planned:
    """One that nobody survives: two runners are lost before it is taken for poison."""
    job = NewJob(kind="deadly", payload={"n": n}, max_losses=1, priority=9)
    return Planned(n, FIXED, job, Expected("Poison", 0))


def probe(n: int, pool: str) -> Planned:
    """One that tells whether work is done again."""
    return Planned(n, pool, NewJob(kind="quick", payload={"n": n}, priority=9, max_losses=100), Expected("d", 0))


def _planned(draw: random.Random, n: int, pool: str, *, metered: bool) -> Planned:
    kind = "metered" if metered else draw.choices(("quick", "slow", "blocking", "threaded"), (70, 12, 4, 14))[0]
    seconds = {"slow": draw.uniform(0.5, 6), "blocking": draw.uniform(0.01, 0.1)}.get(kind, draw.uniform(0, 0.2))
    fails, max_tries = 0, 5
    if kind in ("quick", "threaded") and draw.random() < 0.2:
        fails, max_tries = draw.choice(((1, 5), (2, 5), (3, 4), (9, 2)))
    key, limit = _key(draw) if kind in ("quick", "threaded", "slow") else (None, None)
    delay = timedelta(seconds=draw.uniform(0.5, 8)) if draw.random() < 0.15 else None
    job = NewJob(
        kind=kind, payload={"n": n, "seconds": seconds, "fails": fails}, priority=draw.choice((1, 5, 5, 5, 8)),
        delay=delay, key=key, key_limit=limit, max_tries=max_tries, max_losses=draw.choice((3, 100, 100)),
    )  # fmt: skip
    expected = Expected("Failed", max_tries) if fails >= max_tries else Expected("d", fails)
    return Planned(n, pool, job, expected)


def _key(draw: random.Random) -> tuple[str | None, int | None]:
    match draw.choices(("none", "one", "two", "rated"), (70, 14, 10, 6))[0]:
        case "one":
            return draw.choice(ONE_AT_A_TIME), 1
        case "two":
            return draw.choice(TWO_AT_A_TIME), 2
        case "rated":
            return KEY_RATE[0], None
    return None, None
