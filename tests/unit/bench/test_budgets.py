"""A promise that was not measured is not kept."""

import math
from pathlib import Path

import pytest

from paceline_bench import budgets
from paceline_bench.budgets import Budget, Verdict, judge
from paceline_bench.errors import BenchError
from paceline_bench.measure import Figure


def _budget(op: str = ">=", limit: float = 0.8) -> Budget:
    return Budget("runner", "ratio", op, limit, "design 10")


@pytest.mark.parametrize(
    ("op", "value", "ok"),
    [
        (">=", 0.8, True), (">=", 0.7999, False), (">", 0.8, False), ("<=", 0.8, True), ("<", 0.8, False),
        ("<", 0.7999, True), ("<", math.nan, False), ("<", -math.inf, False), ("<", None, False),
    ],
)  # fmt: skip
def test_a_limit_is_kept_or_not(op: str, value: float | None, ok: bool) -> None:
    assert Verdict(_budget(op), value).ok is ok


def test_the_median_is_judged() -> None:
    (verdict,) = judge([_budget()], {"ratio": Figure("ratio", "x", (0.1, 0.9, 0.9))})
    assert verdict.value == 0.9
    assert verdict.ok


def test_a_figure_that_is_missing_misses_its_budget_and_is_named() -> None:
    (verdict,) = judge([_budget()], {})
    assert not verdict.ok
    assert verdict.sentence == "ratio: not measured (budget: >= 0.8; design 10)"


@pytest.mark.parametrize("change", [("op = '>='", "op = '=='"), ("limit = 1", ""), ("design = 'd'", "desing = 'd'")])
def test_a_budget_that_cannot_be_read_is_told(tmp_path: Path, change: tuple[str, str]) -> None:
    text = "[[budget]]\nbench = 'runner'\nname = 'x'\nop = '>='\nlimit = 1\ndesign = 'd'\n"
    file = tmp_path / "budgets.toml"
    file.write_text(text)
    assert len(budgets.load("runner", file)) == 1
    file.write_text(text.replace(*change))
    with pytest.raises(BenchError, match=r"budgets.toml: a budget has bench, design, limit, name, op"):
        budgets.load("runner", file)
    file.write_text(text * 2)
    with pytest.raises(BenchError, match="two budgets are called x"):
        budgets.load("runner", file)


def test_every_budget_of_the_runner_is_a_figure_that_its_bench_can_have() -> None:
    from paceline_bench.runner import BENCH

    names = {budget.name for budget in budgets.load(BENCH.name)}
    assert len(names) == 11
    assert names <= set(BENCH.labels)
    assert {name for plot in BENCH.plots for name in plot.names} <= set(BENCH.labels)
