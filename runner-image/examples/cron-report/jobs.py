"""The report of yesterday, every morning."""

import os
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import asyncpg
from pydantic import AwareDatetime, BaseModel

from paceline import Context, Exponential, Jobs

URL = os.environ.get("SHOP_DATABASE_URL") or os.environ.get("PACELINE_DATABASE_URL", "")
ZONE = ZoneInfo("Europe/Berlin")
SALES = """
SELECT country, count(*) AS orders, sum(cents) AS cents FROM orders WHERE placed_at >= $1 AND placed_at < $2
 GROUP BY country ORDER BY country"""
jobs = Jobs()


class Shop:
    """The orders."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        """It is open."""
        self.pool = pool


class Morning(BaseModel):
    """Which morning it is: the tick's own moment, which `--stamp tick` writes into the payload."""

    tick: AwareDatetime


class Sales(BaseModel):
    """Of one country."""

    orders: int
    cents: int


class Report(BaseModel):
    """What was sold on the day before a tick."""

    tick: AwareDatetime
    day: str
    countries: dict[str, Sales]


@jobs.provider
async def shop() -> AsyncIterator[Shop]:
    """Opened by the first report of a runner."""
    async with asyncpg.create_pool(URL, min_size=1, max_size=2) as pool:
        yield Shop(pool)


@jobs.handler("report.daily", retry=Exponential(base=timedelta(minutes=1)), timeout=timedelta(minutes=10))
async def daily(morning: Morning, context: Context, shop: Shop) -> Report:
    """Of the day before the tick, not before now: after a night without a database the job comes late."""
    begin, end = day_before(morning.tick)
    context.log.info("orders from %s to %s", begin, end)
    rows = await shop.pool.fetch(SALES, begin, end)
    sold = {row["country"]: Sales(orders=row["orders"], cents=row["cents"]) for row in rows}
    return Report(tick=morning.tick, day=begin.date().isoformat(), countries=sold)


def day_before(moment: datetime) -> tuple[datetime, datetime]:
    """Its first moment and the next day's, by the clocks there: 23 to 25 hours apart."""
    end = moment.astimezone(ZONE).replace(hour=0, minute=0, second=0, microsecond=0)
    return end - timedelta(days=1), end
