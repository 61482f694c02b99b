"""The pieces of the soak that need no cluster."""

import math

import pytest

from paceline_bench import budgets
from paceline_bench.measure import Measurement, collect
from paceline_bench.soak import samples
from paceline_bench.soak.bench import BENCH, COUNTS, ENDS, STEADY, steady
from paceline_bench.soak.drift import growth, late, line

HOURS = [10.0 * number for number in range(720)]


def points(values: list[float]) -> list[tuple[float, float]]:
    return list(zip(HOURS, values, strict=True))


def flat(value: float = 100.0) -> list[tuple[float, float]]:
    """It goes up and down, and nowhere."""
    return points([value + 5 * math.sin(number / 7) for number in range(720)])


def test_what_goes_up_and_down_does_not_grow() -> None:
    found = line(flat())
    assert abs(found.per_hour) < 0.5
    assert abs(found.drift) < 0.01


def test_what_grows_is_told_by_the_hour_and_as_a_share() -> None:
    found = line(points([100 + at / 360 for at in HOURS]))
    assert found.per_hour == pytest.approx(10)
    assert found.drift == pytest.approx(10 * 1.6 / 112, rel=0.01), "1.6 of two hours count, around 112"


def test_the_beginning_does_not_count() -> None:
    assert abs(line(points([20.0 if at < 0.19 * HOURS[-1] else 100.0 for at in HOURS])).drift) < 1e-9


def test_what_the_second_half_adds_is_told_by_the_hour_and_a_short_one_is_not_made_longer() -> None:
    assert late(points([100 + max(at - 3600, 0) / 360 for at in HOURS])) == pytest.approx(10, rel=0.01)
    assert abs(late(points([100 + min(at, 3500) / 360 for at in HOURS]))) < 1e-9, "it has come to rest"
    assert late([(10.0 * number, 100 + number / 10) for number in range(19)]) == pytest.approx(0.9)


def test_what_was_seen_too_seldom_is_no_line() -> None:
    with pytest.raises(ValueError, match="look for longer"):
        line(flat()[:2])
    with pytest.raises(ValueError, match="look for longer"):
        growth(flat()[:2])
    with pytest.raises(ValueError, match="look for longer"):
        late(flat()[:2])


def test_a_table_that_has_seen_the_worst_grows_no_more() -> None:
    assert growth(points([min(number, 300.0) for number in range(720)])) == 1
    assert growth(points([float(number) for number in range(720)])) == pytest.approx(719 / 527, rel=0.01)
    assert growth(points([0.0] * 720)) == 1


def test_every_figure_has_a_label_and_every_budget_a_figure() -> None:
    given = {each.name for each in steady({name: flat() for name in samples.NAMES})} | {*COUNTS, *ENDS}
    assert given | set(samples.NAMES) == set(BENCH.labels)
    assert {each.name for each in budgets.load("soak")} <= given
    assert all(set(plot.names) <= set(samples.NAMES) for plot in BENCH.plots)


@pytest.mark.parametrize("name", STEADY)
def test_what_grows_by_an_eighth_misses_its_budget(name: str) -> None:
    seen = {each: flat() for each in samples.NAMES}
    ends = [Measurement(each, 0, "jobs") for each in ENDS]
    growing = seen | {name: points([100 + at / 450 for at in HOURS])}
    misses = {f"drift_{name}"} | ({f"late_{name}"} if name in samples.WEIGHTS else set())
    for given, missed in ((seen, set[str]()), (growing, misses)):
        judged = budgets.judge(budgets.load("soak"), collect([*ends, *steady(given)]))
        assert {each.budget.name for each in judged if not each.ok} == missed
