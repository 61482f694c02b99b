"""Schedules: the next tick, the nights when the clocks change, and the last tick that was missed."""

import zoneinfo
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.cron import CronEntry, _shown
from paceline.errors import InvalidInputError
from paceline.job import NewJob
from paceline.schedule import ANY_MOMENT, find_zone, latest_missed, next_after

BERLIN = "Europe/Berlin"
SECOND = timedelta(seconds=1)
MAIL = NewJob(kind="mail")
Make: TypeAlias = Callable[[], object]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def ticks(schedule: str, timezone: str, start: str, count: int) -> list[str]:
    """The next ticks by the clock on the wall, with the offset."""
    zone, found, moment = find_zone(timezone), [], utc(start)
    for _ in range(count):
        moment = next_after(schedule, timezone, moment)
        found.append(moment.astimezone(zone).strftime("%d %H:%M:%S %z"))
    return found


@pytest.mark.parametrize(
    ("schedule", "timezone", "after", "tick"),
    [
        ("*/15 * * * *", "UTC", "2026-01-01T00:00:00", "2026-01-01T00:15:00"),
        ("*/15 * * * *", "UTC", "2026-01-01T00:14:59.999999", "2026-01-01T00:15:00"),
        ("0 8 * * 1-5", BERLIN, "2026-01-02T08:00:00", "2026-01-05T07:00:00"),
        ("0 8 * * 1-5", BERLIN, "2026-07-02T08:00:00", "2026-07-03T06:00:00"),
        ("0 0 L * *", "UTC", "2026-02-01T00:00:00", "2026-02-28T00:00:00"),
        ("0 0 29 2 *", "UTC", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
        ("*/10 * * * * *", "UTC", "2026-01-01T00:00:05", "2026-01-01T00:00:10"),
        ("0 0 * * *", "Asia/Kathmandu", "2026-01-01T00:00:00", "2026-01-01T18:15:00"),
    ],
)
def test_the_next_tick(schedule: str, timezone: str, after: str, tick: str) -> None:
    assert next_after(schedule, timezone, utc(after)) == utc(tick)


def test_a_night_without_the_hour_fires_once_at_its_end() -> None:
    assert ticks("30 2 * * *", BERLIN, "2026-03-28T12:00:00", 2) == ["29 03:00:00 +0200", "30 02:30:00 +0200"]
    assert ticks("0,30 2 * * *", BERLIN, "2026-03-28T12:00:00", 2) == ["29 03:00:00 +0200", "30 02:00:00 +0200"]


def test_a_doubled_hour_fires_once_at_its_first_pass() -> None:
    assert ticks("30 2 * * *", BERLIN, "2026-10-24T12:00:00", 2) == ["25 02:30:00 +0200", "26 02:30:00 +0100"]


def test_inside_the_second_pass_the_first_is_over() -> None:
    """01:15 UTC is 02:15 for the second time: 02:30 was 45 minutes ago, whatever the clock on the wall says."""
    assert ticks("30 2 * * *", BERLIN, "2026-10-25T01:15:00", 1) == ["26 02:30:00 +0100"]


def test_a_schedule_by_the_minute_follows_real_time() -> None:
    autumn = ticks("*/30 * * * *", BERLIN, "2026-10-24T23:59:00", 4)
    assert autumn == ["25 02:00:00 +0200", "25 02:30:00 +0200", "25 02:00:00 +0100", "25 02:30:00 +0100"]
    assert ticks("*/30 * * * *", BERLIN, "2026-03-29T00:30:00", 2) == ["29 03:00:00 +0200", "29 03:30:00 +0200"]


@pytest.mark.parametrize(
    ("schedule", "due", "now", "latest", "following"),
    [
        ("0 * * * *", "2026-01-01T10:00", "2026-01-01T10:00:00", "2026-01-01T10:00", "2026-01-01T11:00"),
        ("0 * * * *", "2026-01-01T10:00", "2026-01-01T10:59:59", "2026-01-01T10:00", "2026-01-01T11:00"),
        ("0 * * * *", "2026-01-01T10:00", "2026-01-01T13:30:00.5", "2026-01-01T13:00", "2026-01-01T14:00"),
        ("0 * * * *", "2026-01-01T10:00", "2026-01-01T13:00:00", "2026-01-01T13:00", "2026-01-01T14:00"),
        ("* * * * * *", "2016-01-01T00:00", "2026-01-01T00:00:00.9", "2026-01-01T00:00", "2026-01-01T00:00:01"),
        # due at the first 02:30, looked at in the second pass
        ("30 2 * * *", "2026-10-25T00:30", "2026-10-25T01:15:00", "2026-10-25T00:30", "2026-10-26T01:30"),
        ("30 2 * * *", "2026-10-24T00:30", "2026-10-25T01:15:00", "2026-10-25T00:30", "2026-10-26T01:30"),
        # the night without 02:30
        ("30 2 * * *", "2026-03-29T01:00", "2026-03-29T01:00:00", "2026-03-29T01:00", "2026-03-30T00:30"),
    ],
)
def test_after_downtime_the_last_tick_counts(schedule: str, due: str, now: str, latest: str, following: str) -> None:
    assert latest_missed(schedule, BERLIN, utc(due), utc(now)) == (utc(latest), utc(following))


schedules = st.sampled_from(
    [
        "30 2 * * *",
        "0,30 1-3 * * *",
        "*/20 * * * *",
        "*/7 2 * * *",
        "15 */2 * * *",
        "0 3 * * 0",
        "5,10 2,3 25-31 3,10 *",
    ]
)
zones = st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo"])
near_a_change = st.sampled_from(
    [utc("2026-03-29T01:00"), utc("2026-10-25T01:00"), utc("2026-03-08T07:00"), utc("2026-04-04T15:00")]
)
hours = st.timedeltas(min_value=timedelta(hours=-30), max_value=timedelta(hours=30))


@settings(deadline=None, max_examples=300)
@given(schedule=schedules, timezone=zones, change=near_a_change, start=hours, away=hours)
def test_looking_from_behind_finds_what_counting_ahead_finds(
    schedule: str, timezone: str, change: datetime, start: timedelta, away: timedelta
) -> None:
    due = next_after(schedule, timezone, change + start)
    now = due + abs(away)
    latest, following = due, next_after(schedule, timezone, due)
    while following <= now:
        latest, following = following, next_after(schedule, timezone, following)
    assert latest_missed(schedule, timezone, due, now) == (latest, following)
    assert latest <= now < following


@settings(deadline=None)
@given(schedule=schedules, timezone=zones, change=near_a_change, start=hours)
def test_the_next_tick_is_always_later(schedule: str, timezone: str, change: datetime, start: timedelta) -> None:
    moment = change + start
    assert next_after(schedule, timezone, moment) > moment


@settings(deadline=None)
@given(st.one_of(st.text(max_size=300), st.text(alphabet="0123456789*/,-#LW ", max_size=40)))
def test_whatever_is_typed_is_a_schedule_or_a_clear_error(text: str) -> None:
    try:
        said = next_after(text, "UTC", ANY_MOMENT).isoformat()
    except InvalidInputError as error:
        said = str(error)
    assert said.startswith(("20", "schedule "))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: CronEntry(name="a b", schedule="* * * * *", job=MAIL), 'name "a b" is no name'),
        (lambda: CronEntry(name="", schedule="* * * * *", job=MAIL), 'name "" is no name'),
        (
            lambda: CronEntry(name="a", schedule="61 * * * *", job=MAIL),
            'schedule "61 * * * *": bad minute (use "minute',
        ),
        (lambda: CronEntry(name="a", schedule="* * * *", job=MAIL), "wrong number of fields"),
        (lambda: CronEntry(name="a", schedule="@daily", job=MAIL), 'schedule "@daily": wrong number of fields'),
        (lambda: CronEntry(name="a", schedule="0 0 30 2 *", job=MAIL), "bad day-of-month"),
        (lambda: CronEntry(name="a", schedule="* * */20 * 1L", job=MAIL), "never fires"),
        (lambda: CronEntry(name="a", schedule="1" * 5000 + " * * * *", job=MAIL), "schedule has over 256 characters"),
        (
            lambda: CronEntry(name="a", schedule="* * * * *", timezone="europe/berlin", job=MAIL),
            'timezone "europe/berlin" is unknown (did you mean Europe/Berlin?)',
        ),
        (
            lambda: CronEntry(name="a", schedule="* * * * *", timezone="Q", job=MAIL),
            'timezone "Q" is unknown (use a name like Europe/Berlin or UTC)',
        ),
        (lambda: CronEntry(name="a", schedule="* * * * *", timezone="../etc/passwd", job=MAIL), "is unknown"),
        (lambda: CronEntry(name="a", schedule="* * * * *", timezone="", job=MAIL), 'timezone "" is unknown'),
        (
            lambda: CronEntry(name="a", schedule="* * * * *", timezone="Europe", job=MAIL),
            'timezone "Europe" is unknown',
        ),
        (
            lambda: CronEntry(name="a", schedule="* * * * *", job=MAIL, overlap="never"),  # type: ignore[arg-type]
            'overlap "never" is unknown',
        ),
        (
            lambda: CronEntry(name="a", schedule="* * * * *", job=NewJob(kind="m", run_at=ANY_MOMENT)),
            "job.run_at is one moment",
        ),
        (
            lambda: CronEntry(name="a", schedule="* * * * *", job=NewJob(kind="m", expires_at=ANY_MOMENT)),
            "job.expires_at is one moment",
        ),
        (
            lambda: CronEntry(name="a", schedule="* * * * *", job=NewJob(kind="m", trace="t")),
            "job.trace cannot be kept",
        ),
        (
            lambda: CronEntry(name="a", schedule="* * * * *", job=NewJob(kind="m", dedupe="d"), overlap="skip"),
            'job.dedupe and overlap="skip" exclude each other',
        ),
        (
            lambda: CronEntry(name="a", schedule="* * * * *", job=NewJob(kind="m", payload=[1]), stamp="at"),
            'stamp "at" needs a payload that is an object',
        ),
        (
            lambda: CronEntry(name="a", schedule="* * * * *", job=NewJob(kind="m", payload={"at": 1}), stamp="at"),
            'stamp "at" needs a payload that is an object without that key',
        ),
        (lambda: next_after("* * * * *", "UTC", datetime(2026, 1, 1)), "moment 2026-01-01 00:00:00 has no time zone"),
    ],
)
def test_a_bad_field_is_named_with_the_fix(make: Make, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make()
    assert words in str(caught.value)


def test_a_machine_without_time_zone_data_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoneinfo, "available_timezones", set)
    with pytest.raises(InvalidInputError, match="pip install tzdata"):
        next_after("* * * * *", "Europe/Nowhere", ANY_MOMENT)


@pytest.mark.parametrize(
    ("text", "job"),
    [
        ('{"kind": "mail"}', {"kind": "mail"}),
        ('{"kind": "mail", "payload": 1%s}' % ("0" * 5000), {"kind": "mail", "payload": "1" + "0" * 5000}),
        ("[" * 300 + "]" * 300, {"kind": "unreadable", "payload": "[" * 300 + "]" * 300}),
    ],
    ids=["plain", "a long number", "nested deeply"],
)
def test_an_entry_that_cannot_be_read_is_shown_all_the_same(text: str, job: object) -> None:
    assert _shown(text) == job
