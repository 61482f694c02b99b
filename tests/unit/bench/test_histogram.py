"""What a histogram says of times that it only has in buckets."""

import math

import pytest

from paceline_bench import histogram

TEXT = """\
# TYPE paceline_reconcile_seconds histogram
paceline_reconcile_seconds_bucket{le="0.1"} 50.0
paceline_reconcile_seconds_bucket{le="1.0"} 90.0
paceline_reconcile_seconds_bucket{le="+Inf"} 100.0
paceline_reconcile_seconds_count 100.0
other_seconds_bucket{le="0.1"} 7.0
"""


def test_the_buckets_of_one_histogram_are_read() -> None:
    assert histogram.read(TEXT, "paceline_reconcile_seconds") == {0.1: 50, 1.0: 90, math.inf: 100}


def test_those_of_several_labels_are_added() -> None:
    text = "".join(f'w_seconds_bucket{{call="{call}",le="1.0"}} {count}.0\n' for call, count in (("a", 3), ("b", 4)))
    assert histogram.read(text, "w_seconds") == {1.0: 7}


def test_only_what_came_between_two_looks_counts() -> None:
    before = {0.1: 50.0, math.inf: 60.0}
    assert histogram.since(before, {0.1: 51.0, math.inf: 65.0}) == {0.1: 1, math.inf: 5}
    assert histogram.since({}, before) == before


@pytest.mark.parametrize(("share", "value"), [(0.25, 0.05), (0.5, 0.1), (0.7, 0.55), (0.9, 1.0), (0.99, 1.0)])
def test_quantiles_are_those_of_prometheus(share: float, value: float) -> None:
    assert histogram.quantile({0.1: 50, 1.0: 90, math.inf: 100}, share) == pytest.approx(value)


def test_nothing_has_no_quantile() -> None:
    assert histogram.quantile({}, 0.5) is None
    assert histogram.quantile({0.1: 0, math.inf: 0}, 0.5) is None
