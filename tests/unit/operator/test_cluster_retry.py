"""When a request is sent again, and when not any more."""

from typing import Any

import pytest

from paceline_operator.adapters.retry import Retries, retry_after


@pytest.mark.parametrize(
    ("attempt", "chance", "asked", "wait"),
    [
        (0, 0.0, 0.0, 0.05),
        (0, 1.0, 0.0, 0.1),
        (1, 1.0, 0.0, 0.2),
        (3, 0.0, 0.0, 0.4),
        (4, 1.0, 0.0, 1.6),
        (5, 1.0, 0.0, 3.0),
        (5, 0.0, 0.0, 1.5),
        (100_000, 1.0, 0.0, 3.0),
        (0, 0.0, 2.0, 2.05),
        (0, 1.0, 2.0, 2.1),
        (9, 1.0, 60.0, 63.0),
    ],
)
def test_the_wait_doubles_up_to_a_limit_and_comes_on_top_of_what_the_server_asks(
    attempt: int, chance: float, asked: float, wait: float
) -> None:
    assert Retries().wait(attempt, chance, asked) == pytest.approx(wait)


def test_what_is_left_shrinks_to_nothing() -> None:
    assert [Retries(total=15).left(spent) for spent in (0, 14.5, 15, 99)] == [15, 0.5, 0, 0]


def test_within_the_total_a_request_is_sent_about_eight_times() -> None:
    spent, attempt, retries = 0.0, 0, Retries()
    while (wait := retries.wait(attempt, 0.5)) < retries.left(spent):
        spent, attempt = spent + wait, attempt + 1
    assert 7 <= attempt <= 12
    assert spent < retries.total


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0), ("", 0), ("1", 1), (" 30 ", 30), ("-1", 0), ("1e9", 0), ("Fri, 31 Dec 1999 23:59:59 GMT", 0), ("²", 0)],
)
def test_only_whole_seconds_are_taken_from_a_retry_after(header: Any, seconds: float) -> None:
    assert retry_after(header) == seconds
