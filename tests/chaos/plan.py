"""What a run will do, drawn from a seed before it begins: which faults, in which order, alone or in pairs.

The same seed and length give the same plan; how the processes take turns is the machine's affair.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from chaos.faults import ABOUT, QUICK, Fault

PAIRED = 0.2
"""So many of the rounds have a second fault."""


@dataclass(frozen=True, slots=True)
class Round:
    """After some quiet seconds a fault, sometimes with a second one some seconds later; then all has to come back."""

    number: int
    quiet: float
    fault: Fault
    second: Fault | None = None
    later: float = 0.0

    @property
    def faults(self) -> tuple[Fault, ...]:
        return (self.fault,) if self.second is None else (self.fault, self.second)

    def stream(self, seed: int) -> random.Random:
        """For what is chosen when it happens: which pod, which gateway, by how much."""
        return stream(seed, f"round-{self.number}")


@dataclass(frozen=True, slots=True)
class Plan:
    """All of it."""

    seed: int
    minutes: float
    rounds: tuple[Round, ...]
    only: tuple[Fault, ...] = ()

    @property
    def faults(self) -> frozenset[Fault]:
        return frozenset(fault for each in self.rounds for fault in each.faults)

    @property
    def replay(self) -> str:
        chosen = f" ONLY={','.join(self.only)}" if self.only else ""
        return f"make chaos MINUTES={self.minutes:g} SEED={self.seed}{chosen}"


def make_plan(seed: int, minutes: float, only: tuple[Fault, ...] = ()) -> Plan:
    """Deal from shuffled decks of all faults until the time is used up by what each takes about."""
    draw, left, rounds = stream(seed, "plan"), minutes * 60, list[Round]()
    for fault in _decks(draw, only or tuple(Fault)):
        if left <= 0 and len(rounds) >= len(only):
            break
        quiet = draw.uniform(1, 4)
        second, later = _second(draw, fault, only), draw.uniform(0, 3)
        rounds.append(Round(len(rounds), quiet, fault, second, later if second else 0.0))
        left -= quiet + ABOUT[fault].seconds
    return Plan(seed, minutes, tuple(rounds), only)


def stream(seed: int, name: str) -> random.Random:
    """One for each purpose, so that a change of one moves no other."""
    return random.Random(f"{seed}/{name}")  # noqa: S311 -- a plan, not a secret


def _decks(draw: random.Random, faults: tuple[Fault, ...]) -> Iterator[Fault]:
    while True:
        deck = list(faults)
        draw.shuffle(deck)
        yield from deck


def _second(draw: random.Random, fault: Fault, only: tuple[Fault, ...]) -> Fault | None:
    """One of another area, or none; drawn in any case, so that the rest of the plan does not depend on it."""
    wanted = draw.random() < PAIRED and not only
    found = draw.choice([each for each in QUICK if ABOUT[each].area is not ABOUT[fault].area])
    return found if wanted else None
