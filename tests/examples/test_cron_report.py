"""A report by the clock: six in the morning there, once for each tick, of the day that the tick means."""

import json
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from examples.conftest import OpenLaptop
from examples.laptop import Laptop
from paceline.cron import Cron, CronEntry
from paceline.job import NewJob
from runner.process import eventually, until

pytestmark = pytest.mark.timeout(300)
BERLIN = ZoneInfo("Europe/Berlin")
DAYS_LATER = "UPDATE paceline.cron SET next_at = next_at - $1::interval"
"""As if so much time had passed."""
MORNINGS = "SELECT count(*) FROM paceline.history WHERE outcome = 'd'"
NEWEST = "SELECT max(id) FROM paceline.history"
SOLD = """
SELECT jsonb_object_agg(country, n)::text FROM (
    SELECT country, count(*) AS n FROM orders WHERE (placed_at AT TIME ZONE 'Europe/Berlin')::date = $1 GROUP BY country
) day"""

HOURLY = """
INSERT INTO orders (placed_at, country, cents)
SELECT hour, 'it', 1 FROM generate_series(timestamptz '2026-03-27 00:00Z', '2026-04-01 00:00Z', '1 hour') hour"""


async def test_each_morning_makes_one_report_of_the_day_before_whoever_is_alive(laptop: OpenLaptop) -> None:
    reports = laptop("cron-report")
    await reports.develops()
    for name in ("second", "third"):
        await reports.runs(name, "--app", "jobs:jobs", "--pool", "reports")
    await reports.types("python", "demo.py")
    await reports.types("paceline", "cron", "put")
    (entry,) = await Cron(reports.database, "reports").list()
    assert entry.next_at.astimezone(BERLIN).strftime("%H:%M") == "06:00"
    yesterday = entry.next_at.astimezone(BERLIN).date() - timedelta(days=2)

    for mornings, days in ((1, 1), (2, 3)):  # the second time nobody was there for three days
        await reports.database.value(DAYS_LATER, timedelta(days=days))
        report = await nth_report(reports, mornings)
        assert report["day"] == yesterday.isoformat(), "of the latest morning that was missed"
        found = {country: sales["orders"] for country, sales in report["countries"].items()}
        assert found == json.loads(await reports.database.value(SOLD, yesterday))
        assert "daily" in await reports.types("paceline", "cron", "list")


async def nth_report(reports: Laptop, number: int) -> Any:
    """Once there are so many; never more."""

    async def is_there() -> bool:
        found = await reports.database.value(MORNINGS)
        assert found <= number
        return bool(found == number)

    await eventually(is_there, f"report {number} is made")
    return (await until(reports.queue("reports"), await reports.database.value(NEWEST), "done")).result


async def test_no_tick_makes_two_reports(laptop: OpenLaptop) -> None:
    reports = laptop("cron-report")
    for name in ("first", "second", "third"):
        await reports.runs(name, "--app", "jobs:jobs", "--pool", "reports")
    await reports.types("python", "demo.py")
    entry = CronEntry(name="often", schedule="* * * * * *", job=NewJob(kind="report.daily"), stamp="tick")
    await Cron(reports.database, "reports").put(entry)
    await eventually(lambda: reports.database.value(f"SELECT ({MORNINGS}) >= 3"), "three ticks have made reports")
    ticks = await reports.database.rows("SELECT result->>'tick' AS tick FROM paceline.history")
    assert len({row["tick"] for row in ticks}) == len(ticks)


async def test_a_report_is_of_the_day_before_its_tick_by_the_clocks_there(laptop: OpenLaptop) -> None:
    reports = laptop("cron-report")
    await reports.types("python", "demo.py")
    await reports.develops()
    assert '"day": "2026-05-01"' in await reports.types("paceline", "enqueue")
    await reports.database.value(HOURLY)
    made = await reports.queue("reports").enqueue("report.daily", {"tick": "2026-03-30T04:00:00Z"})
    report: Any = (await until(reports.queue("reports"), made.id, "done")).result
    assert (report["day"], report["countries"]["it"]["orders"]) == ("2026-03-29", 23), "a day on which the clocks moved"
