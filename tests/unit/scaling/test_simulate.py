"""Played days whose outcome can be told by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from paceline_operator.domain.scaling.played import Load, Simulated
from paceline_operator.domain.scaling.simulate import simulate
from unit.scaling.cases import NOW, spec_of


def played(
    jobs: list[tuple[float, float]], slots: int = 1, startup: float = 5.0, length: float = 0.0, **block: JsonValue
) -> Simulated:
    """Jobs by the second at which they become ready, and how long they take."""
    jobs = sorted(jobs)
    load = Load(NOW, [ready for ready, _ in jobs], [took for _, took in jobs], length)
    return simulate(spec_of(**block), slots, load, startup)


def test_the_first_job_at_zero_waits_for_a_runner_to_start_and_it_stays_for_five_minutes() -> None:
    found = played([(10.25, 60.0)])
    assert (found.jobs, found.unfinished, found.wait_max) == (1, 0, 5.0)
    assert (found.most_runners, found.scale_ups, found.scale_downs) == (1, 1, 1)
    assert found.runner_hours * 3600 == pytest.approx(65 + 300, abs=15)


def test_a_burst_is_worked_off_by_as_many_slots_as_there_may_be() -> None:
    found = played([(0.0, 10.0)] * 8, slots=2, maxReplicas=2)
    assert found.most_runners == 2
    assert (found.wait_p50, found.wait_max) == (5.0, 15.0)


def test_warm_runners_take_a_job_at_once() -> None:
    assert played([(60.0, 1.0)], minIdle=1).wait_max == 0


def test_a_runner_with_a_job_is_not_taken_away() -> None:
    rules: JsonValue = {"scaleDown": {"stabilizationWindowSeconds": 0}}
    first_and_last = [(place / 100, 3600.0 if place in (0, 7) else 1.0) for place in range(8)]
    found = played(first_and_last, slots=4, behavior=rules)
    assert (found.unfinished, found.most_runners) == (0, 2)
    assert found.runner_hours == pytest.approx(2 * 3605 / 3600, abs=0.001)  # one would have been enough for two jobs


def test_jobs_that_may_wait_are_begun_in_time_behind_hour_long_ones() -> None:
    """By the mean service time alone, which the short ones make, two slots would seem enough for all of them."""
    jobs = [(100.0, 3600.0)] * 10 + [(float(second), 1.0) for second in range(1200)]
    found = played(jobs, targets={"waitSeconds": 60})
    assert 30 < found.wait_max < 66


def test_a_schedule_costs_what_it_keeps_warm() -> None:
    office: JsonValue = [{"cron": "0 13 * * *", "durationSeconds": 3600, "minReplicas": 4}]
    found = played([], length=3 * 3600.0, schedules=office)
    assert found.runner_hours == pytest.approx(4.0, abs=0.01)
    assert played([(3660.0, 1.0)], schedules=office).wait_max == 0


def test_a_policy_makes_jobs_wait_and_is_counted_from_what_was_done() -> None:
    slow: JsonValue = {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}
    found = played([(0.0, 1000.0)] * 4, startup=0.0, behavior=slow)
    assert found.scale_ups == 4
    assert found.wait_max == pytest.approx(180, abs=3)


def test_jobs_that_never_get_a_runner_are_told() -> None:
    found = played([(1.0, 1.0), (2.0, 1.0)], behavior={"scaleUp": {"selectPolicy": "Disabled"}})
    assert (found.unfinished, found.most_runners, found.runner_hours) == (2, 0, 0.0)


def test_a_job_that_does_not_end_in_thirty_days_is_told_and_paid_for() -> None:
    found = played([(0.0, 1e300), (1.0, 1.0)])
    assert found.unfinished == 1
    assert found.runner_hours == pytest.approx(30 * 24, rel=0.01)


def test_no_jobs_are_no_cost() -> None:
    found = played([], length=86_400.0)
    assert (found.jobs, found.runner_hours, found.seconds, found.wait_p99) == (0, 0.0, 86_400.0, 0.0)


def test_it_tells_how_far_it_is() -> None:
    told: list[int] = []
    load = Load(NOW, [index / 100 for index in range(50_000)], [0.01] * 50_000)
    simulate(spec_of(minReplicas=4), 1, load, tell=told.append)
    assert len(told) == 2
    assert told == sorted(told)


jobs = st.lists(st.tuples(st.floats(0, 600), st.floats(0, 300)), max_size=60)


@settings(max_examples=50)
@given(jobs, st.integers(1, 4), st.integers(1, 8), st.sampled_from([0, 30]), st.floats(0, 60))
def test_every_job_runs_once_on_a_runner_that_is_paid_for(
    given_jobs: list[tuple[float, float]], slots: int, most: int, wait: int, startup: float
) -> None:
    found = played(given_jobs, slots, startup, maxReplicas=most, targets={"waitSeconds": wait})
    assert found.unfinished == 0
    assert found.most_runners <= most
    assert found.runner_hours * 3600 * slots >= sum(took for _, took in given_jobs) - 0.001
    assert found == played(given_jobs, slots, startup, maxReplicas=most, targets={"waitSeconds": wait})
