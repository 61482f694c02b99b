"""The floor by the clock: when it begins and ends, also in nights with 23 or 25 hours."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import JsonValue

from paceline_operator.domain.scaling.schedules import floor_at, schedule_problems
from unit.scaling.cases import NOW, spec_of


def scheduled(cron: str, seconds: int, replicas: int = 5, timezone: str = "UTC") -> dict[str, JsonValue]:
    return {"cron": cron, "timezone": timezone, "durationSeconds": seconds, "minReplicas": replicas}


@pytest.mark.parametrize(
    ("moment", "floor"),
    [("07:59:59.999999", 0), ("08:00:00", 5), ("09:29:59.999999", 5), ("09:30:00", 0)],
)
def test_it_holds_from_its_first_moment_to_its_last(moment: str, floor: int) -> None:
    now = datetime.fromisoformat(f"2026-01-05T{moment}+00:00")
    assert floor_at(spec_of(schedules=[scheduled("0 8 * * 1-5", 5400)]), now).replicas == floor


def test_the_next_edge_is_an_end_or_a_beginning() -> None:
    spec = spec_of(schedules=[scheduled("0 8 * * 1-5", 90)])
    eight = datetime(2026, 1, 5, 8, tzinfo=UTC)
    assert floor_at(spec, eight - timedelta(seconds=1)).until == eight
    assert floor_at(spec, eight).until == eight + timedelta(seconds=90)
    assert floor_at(spec, eight + timedelta(seconds=90)).until == eight + timedelta(days=1)


def test_the_highest_floor_counts_and_is_named() -> None:
    both: JsonValue = [scheduled("0 0 * * *", 86_400, 3), scheduled("0 8 * * *", 36_000, 9)]
    assert floor_at(spec_of(schedules=both), NOW).field == "schedules[1].minReplicas"
    assert floor_at(spec_of(minReplicas=9, schedules=both), NOW).field == "minReplicas"
    assert floor_at(spec_of(maxReplicas=4, schedules=both), NOW).replicas == 4


def test_times_that_overlap_are_one_time() -> None:
    spec = spec_of(schedules=[scheduled("*/10 * * * *", 900)])
    assert all(floor_at(spec, NOW + timedelta(minutes=minute)).replicas == 5 for minute in range(30))


def test_a_week_long_time_begins_before_today() -> None:
    assert floor_at(spec_of(schedules=[scheduled("0 0 * * 2", 604_800)]), NOW).replicas == 5


@pytest.mark.parametrize(
    ("day", "begins"),
    [("2026-03-28", "02:30:00+0100"), ("2026-03-29", "03:00:00+0200"), ("2026-10-25", "02:30:00+0200")],
)
def test_clocks_change_as_they_do_for_cron_jobs(day: str, begins: str) -> None:
    spec = spec_of(schedules=[scheduled("30 2 * * *", 3600, timezone="Europe/Berlin")])
    start = datetime.fromisoformat(f"{day}T{begins}")
    assert [floor_at(spec, start + timedelta(seconds=second)).replicas for second in (-1, 0, 3599, 3600)] == [
        0,
        5,
        5,
        0,
    ]


def test_a_schedule_that_cannot_be_read_is_named_and_the_others_still_count() -> None:
    spec = spec_of(
        schedules=[
            scheduled("0 0 30 2 *", 3600, 9),
            scheduled("0 8 * * *", 36_000, 7, "Europe/Berlni"),
            scheduled("0 0 8 * * *", 36_000, 8),
            scheduled("0 8 * * *", 36_000, 5),
        ]
    )
    assert floor_at(spec, NOW).field == "schedules[3].minReplicas"
    assert schedule_problems(spec) == (
        'autoscaling.schedules[0].cron: schedule "0 0 30 2 *": bad day-of-month '
        '(use "minute hour day month weekday", as in "0 8 * * 1-5")',
        'autoscaling.schedules[1].timezone "Europe/Berlni" is unknown (did you mean Europe/Berlin?)',
        'autoscaling.schedules[2].cron: schedule "0 0 8 * * *" has not five fields (write it like "0 8 * * 1-5")',
    )
    assert schedule_problems(spec_of()) == ()
