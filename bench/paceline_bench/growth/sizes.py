"""How far each axis goes, and which calls are measured along it."""

from dataclasses import dataclass
from typing import Final

from paceline_bench.growth.fit import Curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How often a call is made at each size."""

    rounds: int
    calls: int
    """For one value, their median."""
    warm: int = 8
    """Before the first value: a connection settles for its plans after five."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured."""

    backlog: tuple[int, ...]
    groups: tuple[int, ...]
    runners: tuple[int, ...]
    lanes: tuple[int, ...]
    history: tuple[int, ...]
    operator: tuple[int, ...]
    """Groups at zero that one operator looks after."""
    effort: Effort
    quiet: float
    """Seconds without a write before an operator counts as idle."""
    seconds: float
    """For which an idle one is watched."""


FULL: Final = Size(
    backlog=(1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    groups=(1, 5, 20, 100, 500),
    runners=(1, 10, 100, 500, 2_000),
    lanes=(1, 10, 100, 500, 2_000),
    history=(1_000_000, 5_000_000, 20_000_000, 50_000_000),
    operator=(20, 100, 500),
    effort=Effort(rounds=7, calls=15),
    quiet=20,
    seconds=60,
)
QUICK: Final = Size(
    backlog=(1_000, 10_000, 100_000),
    groups=(1, 10, 50),
    runners=(1, 10, 100),
    lanes=(1, 10, 100),
    history=(10_000, 50_000, 200_000),
    operator=(5, 20),
    effort=Effort(rounds=3, calls=7),
    quiet=8,
    seconds=15,
)
EACH: Final = {
    "backlog": ("claim", "through", "enqueue", "tick", "survey", "list"),
    "groups": ("claim", "enqueue"),
    "runners": ("claim", "poll", "heartbeat", "register"),
    "lanes": ("claim", "sparse", "register", "enqueue", "heartbeat"),
    "history": ("claim", "find", "list", "tick"),
    "operator": ("statements",),
}
"""One operation beside so many of that axis."""
ALL: Final = {
    "groups": ("survey", "tick", "sample"),
    "runners": ("survey", "tick", "look"),
    "lanes": ("survey", "tick"),
    "history": ("retire",),
    "operator": ("cpu", "memory"),
}
"""One call that looks at all of them."""
APART: Final = {"backlog": ("claim99",), "runners": ("claim99",), "lanes": ("claim99",), "history": ("claim99",)}
"""Told at each size and not judged: of so few calls the slowest are the machine's."""


def curves(size: Size, axis: str) -> tuple[Curve, ...]:
    """All that is judged along an axis."""
    sizes: tuple[int, ...] = getattr(size, axis)
    return (
        *(Curve(what=what, axis=axis, sizes=sizes) for what in EACH.get(axis, ())),
        *(Curve(what=what, axis=axis, sizes=sizes, all_of_them=True) for what in ALL.get(axis, ())),
    )


def apart(size: Size, axis: str) -> tuple[str, ...]:
    """The names of what is told and not judged."""
    return tuple(f"{what}_{each}_{axis}" for what in APART.get(axis, ()) for each in getattr(size, axis))


def names(size: Size, axis: str) -> tuple[str, ...]:
    """All figures of an axis."""
    return (*(name for curve in curves(size, axis) for name in curve.names), *apart(size, axis))
