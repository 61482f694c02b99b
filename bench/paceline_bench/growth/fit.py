"""How a cost grows: the exponent of a power of n that fits it best, and what is more than the rule allows.

A curve is one of two sorts. *Each*: one operation beside n others (a claim beside a backlog), which may cost log n.
*All*: one call that looks at all n (the survey of n groups), which may cost n log n. Either way n operations, or one
look at n things, take no longer than n log n.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from paceline_bench.measure import Figure, Figures

Points = Sequence[tuple[float, float]]
"""Sizes, and what one call cost there."""
LAST: Final = 3
"""So many of the largest sizes are looked at alone: a constant hides what grows until there is enough of it."""


def exponent(points: Points) -> float:
    """The slope of a straight line through the logarithms, by least squares."""
    if len(points) < 2:
        raise ValueError("a curve needs at least two sizes")
    xs, ys = [math.log(n) for n, _ in points], [math.log(cost) for _, cost in points]
    middle_x, middle_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    wide = math.fsum((x - middle_x) ** 2 for x in xs)
    if not wide:
        raise ValueError("a curve needs different sizes")
    return math.fsum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / wide


def beyond(points: Points, *, all_of_them: bool) -> float:
    """The exponent that is left when what is allowed is taken away: over all sizes or at the end, whichever is larger.

    Nothing grows worse than allowed where this is 0 or less.
    """
    power = 1 if all_of_them else 0
    rest = [(n, cost / (n**power * math.log2(n + 1))) for n, cost in points]
    return max(exponent(rest), exponent(rest[-LAST:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What is measured at each size of an axis, under `<what>_<size>_<axis>`."""

    what: str
    axis: str
    sizes: tuple[int, ...]
    all_of_them: bool = False
    """One call looks at all that the axis counts."""

    @property
    def name(self) -> str:
        """Of its exponent."""
        return f"{self.what}_over_{self.axis}"

    @property
    def names(self) -> tuple[str, ...]:
        """Of its figures."""
        return tuple(f"{self.what}_{size}_{self.axis}" for size in self.sizes)

    def rounds(self, figures: Figures) -> list[Points] | None:
        """The n-th repetitions of all sizes, for each n; None where a size is missing."""
        if any(name not in figures for name in self.names):
            return None
        each = zip(*(figures[name].values for name in self.names), strict=False)
        return [list(zip(self.sizes, values, strict=True)) for values in each]


@dataclass(frozen=True, slots=True)
class Exponent:
    """The exponent of a curve, once for each round."""

    curve: Curve

    @property
    def name(self) -> str:
        """As the curve's."""
        return self.curve.name

    def figure(self, figures: Figures) -> Figure | None:
        """None where a size is missing."""
        rounds = self.curve.rounds(figures)
        return None if rounds is None else Figure(self.name, "power of n", tuple(map(exponent, rounds)))


@dataclass(frozen=True, slots=True)
class Beyond:
    """What of a curve's exponent is more than allowed."""

    curve: Curve

    @property
    def name(self) -> str:
        """As the curve's, with a word more."""
        return f"{self.curve.name}_beyond"

    def figure(self, figures: Figures) -> Figure | None:
        """None where a size is missing."""
        rounds = self.curve.rounds(figures)
        if rounds is None:
            return None
        found = tuple(beyond(points, all_of_them=self.curve.all_of_them) for points in rounds)
        return Figure(self.name, "power of n", found)


@dataclass(frozen=True, slots=True)
class Worst:
    """The curve of an axis that is most beyond what is allowed: that one must keep the budget, so all do."""

    axis: str
    curves: tuple[Curve, ...]

    @property
    def name(self) -> str:
        """Of the axis."""
        return f"worst_over_{self.axis}"

    def figure(self, figures: Figures) -> Figure | None:
        """None where one of the curves is missing: it might be the worst."""
        found = [figures.get(Beyond(curve).name) for curve in self.curves]
        medians = [each.median for each in found if each is not None]
        return Figure(self.name, "power of n", (max(medians),)) if len(medians) == len(found) > 0 else None


def labels(curves: Sequence[Curve], what: Mapping[str, str], over: Mapping[str, str]) -> dict[str, str]:
    """What the figures of curves are called for people."""
    found: dict[str, str] = {}
    for curve in curves:
        for size, name in zip(curve.sizes, curve.names, strict=True):
            found[name] = f"{what[curve.what]}, {size:,} {over[curve.axis]}"
        allowed = "n log n" if curve.all_of_them else "log n"
        found[curve.name] = f"{what[curve.what]}: exponent over {over[curve.axis]}"
        found[f"{curve.name}_beyond"] = f"{what[curve.what]}: beyond {allowed} over {over[curve.axis]}"
    return found
