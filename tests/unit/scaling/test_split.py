"""Whole shares that add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline_operator.domain.scaling.split import share


@pytest.mark.parametrize(
    ("jobs", "weights", "shares"),
    [
        (10, (1, 1), (5, 5)), (10, (3, 1), (8, 2)), (1, (1, 1, 1), (1, 0, 0)), (2, (1, 5), (0, 2)),
        (7, (2, 2, 2), (3, 2, 2)), (5, (0, 1), (0, 5)), (5, (0, 0), (0, 0)), (5, (), ()), (0, (1, 2), (0, 0)),
        (-3, (1, 2), (0, 0)),
    ],
)  # fmt: skip
def test_shares_go_by_weight_and_largest_remainder(
    jobs: int, weights: tuple[int, ...], shares: tuple[int, ...]
) -> None:
    assert share(jobs, weights) == shares


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10_000), min_size=1, max_size=8))
def test_shares_add_up_and_none_is_a_whole_job_off(jobs: int, weights: list[int]) -> None:
    shares = share(jobs, weights)
    total = sum(weights)
    assert sum(shares) == (jobs if total else 0)
    assert all(abs(got * total - jobs * weight) < max(total, 1) for got, weight in zip(shares, weights, strict=True))
