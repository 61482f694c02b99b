"""What is tried: every way to the database, with so many runners, at such rates. One such combination is a cell."""

import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Self, TypeAlias, get_args

from paceline_bench.errors import BenchError

Way = Literal["direct", "bounced", "gateway", "gateways"]
Rate: TypeAlias = int | None
"""Jobs a minute; None is flat out: the queue is never empty."""
WAYS: Final[Mapping[Way, str]] = {
    "direct": "direct",
    "bounced": "PgBouncer",
    "gateway": "one gateway",
    "gateways": "two gateways",
}
FLAT: Final = "flat"
"""What flat out is called on the command line."""
REAL: Final = 50
"""Up to so many runners are processes of their own; more of them share some."""
SEED: Final = 0


def real(runners: int) -> bool:
    """Whether each of so many is a process of its own, as it would be in life."""
    return runners <= REAL


def gated(way: Way) -> bool:
    """Whether runners dial a gateway and have no login to the database."""
    return way.startswith("gateway")


def told(rate: Rate) -> str:
    """A rate for people."""
    return "flat out" if rate is None else f"{rate:,}/min"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is tried, and for how long."""

    ways: tuple[Way, ...] = get_args(Way)
    runners: tuple[int, ...]
    seconds: Mapping[Rate, float]
    """How long each rate is measured: the fewer jobs come, the longer it takes to see enough of them."""
    warm: float
    """Seconds at a rate before it counts: connections, plans and lanes are there then."""
    whole: bool = field(default=True)
    """Whether nothing was left out."""

    def only(self, ways: Collection[str], runners: Collection[int], rates: Collection[str]) -> Self:
        """A part of it; what is not named is taken whole."""
        chosen = {None if each == FLAT else int(each) for each in rates if each == FLAT or each.isdigit()}
        for what, asked, there in (
            ("way", set(ways), set(self.ways)),
            ("runners", set(runners), set(self.runners)),
            ("rate", set(rates), {FLAT if each is None else str(each) for each in self.seconds}),
        ):
            if unknown := asked - there:
                raise BenchError(
                    f"{what} {', '.join(map(str, sorted(unknown)))} is not assessed "
                    f"(there are: {', '.join(map(str, sorted(there)))})"
                )
        return replace(
            self,
            ways=tuple(each for each in self.ways if not ways or each in ways),
            runners=tuple(each for each in self.runners if not runners or each in runners),
            seconds={rate: each for rate, each in self.seconds.items() if not rates or rate in chosen},
            whole=self.whole and not (ways or runners or rates),
        )

    def stations(self) -> Iterator[tuple[Way, int, tuple[Rate, ...]]]:
        """At random, so that what the machine does meanwhile hits no way and no size alone; always the same order.

        The rates of one way and size follow each other, also at random: to start fifty runners takes half a minute.
        """
        chance = random.Random(SEED)  # noqa: S311 -- no secret
        every = [(way, runners) for way in self.ways for runners in self.runners]
        for way, runners in chance.sample(every, len(every)):
            yield way, runners, tuple(chance.sample(list(self.seconds), len(self.seconds)))


FULL: Final = Plan(runners=(10, 50, 100, 500, 1_000), seconds={100: 45, 1_000: 25, 10_000: 20, None: 20}, warm=4)
QUICK: Final = Plan(runners=(10, 100), seconds={1_000: 6, 10_000: 4, None: 4}, warm=2, whole=False)
