"""The arithmetic that decides whether we kept a promise."""

import pytest

from paceline_bench.measure import Figure, Measurement, Percentile, Ratio, collect, derive, percentile


def _figures(**values: list[float]) -> dict[str, Figure]:
    return collect(Measurement(name, value, "jobs/s") for name, found in values.items() for value in found)


def test_repetitions_come_together_in_the_order_in_which_they_were_made() -> None:
    rounds = [Measurement(name, value, "s") for value in (1.0, 2.0, 9.0) for name in ("b", "a")]
    figures = collect(rounds)
    assert list(figures) == ["b", "a"]
    assert figures["a"].values == (1.0, 2.0, 9.0)
    assert figures["a"].median == 2.0
    assert figures["a"].spread == (1.0, 9.0)


def test_a_name_has_one_unit() -> None:
    with pytest.raises(ValueError, match="boot is measured in s and in ms"):
        collect([Measurement("boot", 1, "s"), Measurement("boot", 1000, "ms")])


def test_a_ratio_is_taken_round_by_round() -> None:
    """The second round was twice as slow for both; the ratio of two medians over four rounds would not see it so."""
    found = Ratio("ours", "a", "b").figure(_figures(a=[30, 15, 32], b=[10, 5, 8]))
    assert found is not None
    assert found.values == (3.0, 3.0, 4.0)
    assert found.median == 3.0


def test_a_ratio_to_something_missing_is_missing() -> None:
    figures = derive(_figures(a=[30]), [Ratio("ours", "a", "b"), Percentile("p99", "c", 99)])
    assert list(figures) == ["a"]


def test_a_subject_that_dropped_out_is_compared_where_it_was_there() -> None:
    found = Ratio("ours", "a", "b").figure(_figures(a=[30, 30, 30], b=[10]))
    assert found is not None
    assert found.values == (3.0,)


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [(range(1, 201), 99, 198), (range(1, 101), 99, 99), ([7], 99, 7), ([3, 1, 2], 50, 2), ([3, 1, 2], 0, 1)],
)
def test_a_percentile_is_a_value_that_occurred(values: list[float], percent: float, expected: float) -> None:
    assert percentile(values, percent) == expected
