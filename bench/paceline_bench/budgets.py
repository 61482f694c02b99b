"""Budgets are data: what the design promises, and whether a run kept it."""

import math
import operator
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paceline_bench.errors import BenchError
from paceline_bench.measure import Figures

FILE: Final = Path(__file__).resolve().parents[1] / "budgets.toml"
OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
FIELDS: Final = {"bench", "name", "op", "limit", "design"}


@dataclass(frozen=True, slots=True)
class Budget:
    """A figure's name and the limit that its value must keep."""

    bench: str
    name: str
    op: str
    limit: float
    design: str
    """Where it is promised."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run has to say to a budget; without a value it was not measured, and so not kept."""

    budget: Budget
    value: float | None

    @property
    def ok(self) -> bool:
        """Whether the budget is kept."""
        if self.value is None or not math.isfinite(self.value):
            return False
        return OPERATORS[self.budget.op](self.value, self.budget.limit)

    @property
    def sentence(self) -> str:
        """One line that names it."""
        found = "not measured" if self.value is None else f"{self.value:.4g}"
        return f"{self.budget.name}: {found} (budget: {self.budget.op} {self.budget.limit:g}; {self.budget.design})"


def load(bench: str, file: Path = FILE) -> list[Budget]:
    """The budgets of one bench, in the order of the file."""
    entries = tomllib.loads(file.read_text()).get("budget", [])
    for entry in entries:
        if set(entry) != FIELDS or entry["op"] not in OPERATORS:
            raise BenchError(
                f"{file.name}: a budget has {', '.join(sorted(FIELDS))}, and op is one of {' '.join(OPERATORS)}; "
                f"found {entry}"
            )
    names = [entry["name"] for entry in entries]
    if twice := {name for name in names if names.count(name) > 1}:
        raise BenchError(f"{file.name}: two budgets are called {', '.join(sorted(twice))}")
    return [Budget(**entry) for entry in entries if entry["bench"] == bench]


def judge(budgets: Iterable[Budget], figures: Figures) -> list[Verdict]:
    """A verdict for every budget."""
    return [Verdict(each, figures[each.name].median if each.name in figures else None) for each in budgets]
