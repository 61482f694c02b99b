"""The demo's closing table: what is wrong is found, and said."""

from dataclasses import replace

import pytest

from paceline_dev.demo.figures import Account, count_twice, figures, table, wrong

GOOD = Account(enqueued=700, done=700, twice=0, interrupted=0, killed=3, against_taint=0)


def test_a_good_run_has_nothing_wrong_and_shows_every_number() -> None:
    found = figures(GOOD, [("leader hand-over", 0.314)])
    assert wrong(found) == []
    lines = table(found)
    assert [line.split()[-1] for line in lines[:-1]] == ["700", "700", "0", "0", "0", "3", "0"]
    assert lines[-1].split() == ["leader", "hand-over", "0.31", "s"]
    assert len({len(line) for line in lines}) == 1, "the numbers stand in one column"


@pytest.mark.parametrize(
    ("account", "said"),
    [
        (replace(GOOD, done=699), "jobs lost: 1 (wanted 0)"),
        (replace(GOOD, twice=2), "jobs done twice: 2 (wanted 0)"),
        (replace(GOOD, interrupted=1), "jobs interrupted by us: 1 (wanted 0)"),
        (replace(GOOD, killed=0), "jobs cut off by kill -9, and done elsewhere: 0 (wanted > 0)"),
        (replace(GOOD, against_taint=1), "jobs claimed against a taint: 1 (wanted 0)"),
        (replace(GOOD, enqueued=0, done=0), "jobs enqueued: 0 (wanted > 0)"),
    ],
)
def test_each_promise_that_is_broken_is_named(account: Account, said: str) -> None:
    found = figures(account, [])
    assert said in wrong(found)
    assert any("WRONG" in line for line in table(found))


@pytest.mark.parametrize(
    ("ends", "acked", "cut_off", "twice"),
    [
        ([1, 2, 3], [1, 2, 3], (), 0),
        ([1, 1, 2], [1, 2], (), 1),
        ([1, 2], [1, 2, 2], (), 1),
        ([1, 1, 2], [1, 2], {1}, 0),
        ([1, 1, 2], [1, 1, 2], {1}, 1),
    ],
    ids=["once each", "ran twice", "acked twice", "ended just before the kill", "acked twice in spite of the kill"],
)
def test_done_twice_is_seen_by_the_handlers_and_by_the_queue(
    ends: list[int], acked: list[int], cut_off: set[int], twice: int
) -> None:
    assert count_twice(ends, acked, cut_off) == twice
