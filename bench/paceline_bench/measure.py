"""What a bench measures, and the arithmetic on it."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Measurement:
    """One repetition of one thing."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that could not be measured, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Figure:
    """All repetitions of one thing; its value is their median."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The value that is shown and that a budget judges."""
        return statistics.median(self.values)

    @property
    def spread(self) -> tuple[float, float]:
        """The smallest and the largest repetition."""
        return min(self.values), max(self.values)


@dataclass(frozen=True, slots=True)
class Curve:
    """How something changed while it was measured: seconds since the beginning, and what was so from then on."""

    name: str
    unit: str
    points: tuple[tuple[float, float], ...]


Figures = Mapping[str, Figure]


class Derived(Protocol):
    """A figure that is computed from others."""

    @property
    def name(self) -> str:
        """Its name."""

    def figure(self, figures: Figures) -> Figure | None:
        """The figure, or None where one that it needs is missing."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """One thing in multiples of another, round by round: what slows a whole round down cancels out."""

    name: str
    over: str
    under: str

    def figure(self, figures: Figures) -> Figure | None:
        """The ratio of each round that has both."""
        over, under = figures.get(self.over), figures.get(self.under)
        if over is None or under is None:
            return None
        return Figure(self.name, "x", tuple(a / b for a, b in zip(over.values, under.values, strict=False)))


@dataclass(frozen=True, slots=True)
class Percentile:
    """The value that so many per cent of the repetitions do not exceed."""

    name: str
    of: str
    percent: float

    def figure(self, figures: Figures) -> Figure | None:
        """One value, since the repetitions are the sample."""
        sample = figures.get(self.of)
        return None if sample is None else Figure(self.name, sample.unit, (percentile(sample.values, self.percent),))


def percentile(values: Sequence[float], percent: float) -> float:
    """By the nearest rank: a value that really occurred, never one between two."""
    ordered = sorted(values)
    return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1]


def collect(measurements: Iterable[Measurement]) -> dict[str, Figure]:
    """Repetitions under their names, in the order in which each name first came."""
    values: dict[str, list[float]] = {}
    units: dict[str, str] = {}
    for each in measurements:
        if units.setdefault(each.name, each.unit) != each.unit:
            raise ValueError(f"{each.name} is measured in {units[each.name]} and in {each.unit}")
        values.setdefault(each.name, []).append(each.value)
    return {name: Figure(name, units[name], tuple(found)) for name, found in values.items()}


def derive(figures: Figures, wanted: Iterable[Derived]) -> dict[str, Figure]:
    """The figures, and those computed from them as far as possible."""
    found = dict(figures)
    for each in wanted:
        if (figure := each.figure(found)) is not None:
            found[each.name] = figure
    return found


def number(value: float) -> str:
    """A number as people read it: 41,250; 132; 2.37; 0.081."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
