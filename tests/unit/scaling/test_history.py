"""What is kept of the past, and that nothing which matters is lost."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline_operator.domain.scaling.history import MOST, Change, History, Recommendation
from unit.scaling.cases import NOW, ago, said

steps = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 30)), max_size=60)


def test_the_same_recommendation_again_makes_no_new_entry() -> None:
    past = History().recommended(3, ago(20)).recommended(3, ago(10)).recommended(4, NOW)
    assert past.recommendations == (Recommendation(ago(20), ago(10), 3), Recommendation(NOW, NOW, 4))


@given(steps, st.integers(0, 3600))
def test_every_window_finds_the_same_extremes_as_in_a_full_record(made: list[tuple[int, int]], window: int) -> None:
    now, past, record = NOW, History(), []
    for seconds, replicas in made:
        now += timedelta(seconds=seconds)
        past = past.as_of(now).recommended(replicas, now)
        record.append((now, replicas))
    cutoff = now - timedelta(seconds=window)
    everything = [replicas for at, replicas in record if at > cutoff]
    kept = [run.replicas for run in past.recommendations if run.until > cutoff]
    assert bool(kept) == bool(everything)
    if everything:
        assert (max(kept), min(kept)) == (max(everything), min(everything))


def test_a_long_way_down_stays_bounded_and_is_never_forgotten_too_early() -> None:
    past = History()
    for second in range(3000):
        past = past.recommended(3000 - second, NOW + timedelta(seconds=second))
        past = past.changed(-1, NOW + timedelta(seconds=second))
    now = NOW + timedelta(seconds=2999)
    assert len(past.recommendations) <= MOST
    assert len(past.changes) <= MOST
    for window in (60, 300, 1800):
        cutoff = now - timedelta(seconds=window)
        assert max(run.replicas for run in past.recommendations if run.until > cutoff) >= window
        assert -past.change_after(cutoff) >= min(window, MOST)


def test_it_forgets_what_no_window_reaches_and_what_has_not_happened_yet() -> None:
    past = History(
        (
            Recommendation(ago(4000), ago(3600), 9), Recommendation(ago(30), ago(-30), 2),
            Recommendation(ago(-9), ago(-40), 1),
        ),
        (Change(ago(1800), 5), Change(ago(10), 1), Change(ago(-10), 7)),
    )  # fmt: skip
    assert past.as_of(NOW) == History((Recommendation(ago(30), NOW, 2),), (Change(ago(10), 1),))


@given(steps)
def test_it_comes_back_from_json_as_it_was(made: list[tuple[int, int]]) -> None:
    now, past = NOW, History()
    for seconds, replicas in made:
        now += timedelta(seconds=seconds, microseconds=1)
        past = past.recommended(replicas, now).changed(replicas - 15, now)
    assert History.from_json(json.loads(json.dumps(past.as_json()))) == past


GOOD = said((10, 3)).changed(2, NOW).as_json()


@pytest.mark.parametrize(
    "bad",
    [
        None, [], "x", {}, {"recommendations": []}, {"recommendations": {}, "changes": []},
        {"recommendations": [[1, 2]], "changes": []}, {"recommendations": [[1, 2, "3"]], "changes": []},
        {"recommendations": [[1, 2, True]], "changes": []}, {"recommendations": [[2, 1, 3]], "changes": []},
        {"recommendations": [[1, 2, -3]], "changes": []}, {"recommendations": [[1, 10**30, 3]], "changes": []},
        {"recommendations": [[5, 6, 1], [1, 2, 1]], "changes": []}, {"recommendations": [], "changes": [[1.5, 2]]},
        {"recommendations": [], "changes": [[1, 2]] * (MOST + 1)}, {"recommendations": [], "changes": [3]},
    ],
)  # fmt: skip
def test_what_it_has_not_written_is_an_empty_history(bad: object) -> None:
    assert History.from_json(bad) == History()
    assert History.from_json(GOOD) != History()
