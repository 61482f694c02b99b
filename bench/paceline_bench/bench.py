"""What a bench is: a function that yields measurements, and what to make of them."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from paceline_bench.measure import Curve, Derived, Measurement, Missing
from paceline_dev.progress import Reporter


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One picture of some figures, or of some curves if it has steps."""

    file: str
    title: str
    kind: Literal["bars", "logbars", "lines", "cumulative", "steps"]
    names: tuple[str, ...]
    x: str = "batch"
    """What lines go over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a peer took for the same, measured at another time: to be read beside our figures, and not judged."""

    title: str
    note: str
    """Which version, when and where."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The name of our figure, and what stands in each column."""


@dataclass(slots=True, kw_only=True)
class Run:
    """One run of a bench: how it is to be done, and what it notes on the way."""

    report: Reporter
    quick: bool = False
    jobs: int | None = None
    """Instead of the bench's own number."""
    rounds: int | None = None
    only: frozenset[str] = frozenset()
    """Measure only these (all, if empty); the rest is then missing."""
    settings: dict[str, object] = field(default_factory=dict)
    """What the measurements depend on: numbers of jobs and rounds, the server's settings."""
    versions: dict[str, str] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)

    @property
    def shortened(self) -> bool:
        """Whether the figures are only a first impression."""
        return self.quick or self.jobs is not None or self.rounds is not None or bool(self.only)

    def wants(self, name: str) -> bool:
        """Whether this is to be measured."""
        return not self.only or name in self.only


Function = Callable[[Run], AsyncIterator[Measurement | Missing]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A bench and its report."""

    name: str
    title: str
    method: str
    """How it is measured, for the report's reader."""
    function: Function
    derived: tuple[Derived, ...] = ()
    plots: tuple[Plot, ...] = ()
    beside: Beside | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    """What a figure's name means, for people."""
