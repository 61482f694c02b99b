"""The pieces of the bench of growth that need no database: the fit, the rule, and what is measured."""

import math
from collections.abc import Callable

import pytest

from paceline_bench import budgets
from paceline_bench.errors import NotMeasuredError
from paceline_bench.growth import places
from paceline_bench.growth.bench import OVER, SHARDED, WHAT, bench
from paceline_bench.growth.calls import medians
from paceline_bench.growth.fit import Beyond, Curve, Exponent, Worst, beyond, exponent
from paceline_bench.growth.operators import renamed
from paceline_bench.growth.sizes import APART, FULL, QUICK, Effort, curves, names
from paceline_bench.measure import Derived, Measurement, collect, derive

SIZES = (10, 100, 1_000, 10_000, 100_000)
LIMIT = 0.15


def grown(cost: Callable[[int], float]) -> list[tuple[float, float]]:
    return [(n, cost(n)) for n in SIZES]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_a_power_is_found_again_whatever_its_unit(power: float) -> None:
    assert math.isclose(exponent(grown(lambda n: 3.5 * n**power)), power, abs_tol=1e-9)


def test_one_size_has_no_exponent() -> None:
    with pytest.raises(ValueError, match="two sizes"):
        exponent([(10, 1.0)])
    with pytest.raises(ValueError, match="different sizes"):
        exponent([(10, 1.0), (10, 2.0)])


@pytest.mark.parametrize(
    ("cost", "kept"),
    [
        (lambda _: 2.0, True),
        (lambda n: 5 + math.log2(n), True),
        (lambda n: math.log2(n + 1), True),
        (lambda n: math.sqrt(n), False),
        (lambda n: n, False),
        (lambda n: 10_000 + n, False),  # only the largest sizes show it
    ],
)
def test_one_operation_may_cost_as_much_as_log_n(cost: Callable[[int], float], kept: bool) -> None:
    assert (beyond(grown(cost), all_of_them=False) <= LIMIT) is kept


@pytest.mark.parametrize(
    ("cost", "kept"),
    [
        (lambda n: 3 + n, True),
        (lambda n: n * math.log2(n + 1), True),
        (lambda n: n**2, False),
        (lambda n: n**1.5, False),
        (lambda n: 1_000 * n + n**2, False),
    ],
)
def test_a_look_at_all_may_cost_as_much_as_n_log_n(cost: Callable[[int], float], kept: bool) -> None:
    assert (beyond(grown(cost), all_of_them=True) <= LIMIT) is kept


def test_what_is_left_of_what_is_allowed_is_nothing() -> None:
    assert math.isclose(beyond(grown(lambda n: math.log2(n + 1)), all_of_them=False), 0, abs_tol=1e-9)
    assert math.isclose(beyond(grown(lambda n: n * math.log2(n + 1)), all_of_them=True), 0, abs_tol=1e-9)


def test_each_round_has_an_exponent_of_its_own() -> None:
    curve = Curve(what="claim", axis="lanes", sizes=(1, 10, 100))
    rounds = [[1.0, 1.0, 1.0], [1.0, 10.0, 100.0]]
    found = collect(Measurement(name, each[at], "ms") for each in rounds for at, name in enumerate(curve.names))
    made = derive(found, [Exponent(curve)])["claim_over_lanes"]
    assert [round(value, 6) for value in made.values] == [0, 1]


def test_the_worst_curve_is_the_one_that_is_judged_and_none_may_be_missing() -> None:
    good, bad = (Curve(what=what, axis="lanes", sizes=(1, 10, 100)) for what in ("claim", "tick"))
    wanted: list[Derived] = [Beyond(good), Beyond(bad), Worst("lanes", (good, bad))]
    found = [Measurement(name, 1.0, "ms") for name in good.names]
    assert "worst_over_lanes" not in derive(collect(found), wanted)
    found += [Measurement(name, float(size), "ms") for name, size in zip(bad.names, bad.sizes, strict=True)]
    worst = derive(collect(found), wanted)["worst_over_lanes"].median
    assert worst == beyond([(1, 1), (10, 10), (100, 100)], all_of_them=False) > LIMIT


@pytest.mark.parametrize("size", [FULL, QUICK])
def test_every_figure_has_a_label_and_every_budget_a_figure(size: object) -> None:
    assert size in (FULL, QUICK)
    made = bench(FULL if size is FULL else QUICK)
    measured = {name for axis in OVER for name in names(FULL if size is FULL else QUICK, axis)}
    named = measured | {each.name for each in made.derived} | {"bytes_backlog", "bytes_history", *SHARDED}
    assert set(made.labels) == named
    assert {each.name for each in budgets.load("growth")} <= named
    for plot in made.plots:
        assert plot.names
        assert set(plot.names) <= named
        assert all(name.split("_")[1].isdigit() for name in plot.names)


def test_every_call_of_every_axis_is_judged_or_told_apart() -> None:
    judged = {curve.what for axis in OVER for curve in curves(FULL, axis)}
    assert judged | {what for whats in APART.values() for what in whats} == set(WHAT)


@pytest.mark.parametrize("axis", OVER)
def test_one_operation_is_held_to_log_n_on_every_axis(axis: str) -> None:
    """Beside lanes too: of many lanes a claim may not look at each."""
    one = {"claim", "sparse", "through", "enqueue", "poll", "heartbeat", "register", "find", "list"}
    assert not {curve.what for curve in curves(FULL, axis) if curve.all_of_them} & one


def test_a_full_run_goes_as_far_as_was_promised() -> None:
    assert (FULL.backlog[0], FULL.backlog[-1]) == (1_000, 10_000_000)
    assert (FULL.groups[0], FULL.groups[-1], FULL.operator[-1]) == (1, 500, 500)
    assert (FULL.runners[0], FULL.runners[-1]) == (1, 2_000)
    assert (FULL.lanes[0], FULL.lanes[-1]) == (1, 2_000)
    assert (FULL.history[0], FULL.history[-1]) == (1_000_000, 50_000_000)


def test_a_value_is_the_median_of_the_calls_of_its_round() -> None:
    took = [1.0, 2.0, 9.0, 5.0, 5.0, 5.0]
    assert [each.value for each in medians("claim", took, Effort(rounds=2, calls=3))] == [2.0, 5.0]


def test_a_disk_that_is_too_small_is_told_before_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places.shutil, "disk_usage", lambda _: places.shutil._ntuple_diskusage(0, 0, int(13e9)))  # type: ignore[attr-defined]
    places.require_room(1_000_000, 500)
    with pytest.raises(NotMeasuredError, match=r"10,000,000 rows need 17 GB .* 13 are free"):
        places.require_room(10_000_000, 500)


def test_an_operator_at_rest_is_told_by_the_names_of_its_curves() -> None:
    found = [
        Measurement("rss_20_operator", 100, "MB"),
        Measurement("cpu_idle_20_operator", 5, "% of a core"),
        Measurement("queries_idle_20_operator", 0.9, "queries/s"),
        Measurement("connections_20_operator", 3, "connections"),
    ]
    assert [each.name for each in renamed(found, 20)] == [
        "memory_20_operator",
        "cpu_20_operator",
        "statements_20_operator",
    ]
