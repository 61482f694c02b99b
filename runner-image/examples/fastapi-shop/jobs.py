"""The handlers of the shop."""

import os
from collections.abc import AsyncIterator

import asyncpg
from pydantic import BaseModel

from paceline import Context, Exponential, Jobs

SHIP = "UPDATE orders SET shipped_by = $2 WHERE id = $1 AND shipped_by IS NULL RETURNING true"
jobs = Jobs()


class Placed(BaseModel):
    """An order that is committed: the job would not be there otherwise."""

    order: int


class Shop:
    """Its database."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        """It is open."""
        self.pool = pool


@jobs.provider
async def shop() -> AsyncIterator[Shop]:
    """Opened by the first job of a runner."""
    async with asyncpg.create_pool(os.environ["PACELINE_DATABASE_URL"], min_size=1, max_size=4) as pool:
        yield Shop(pool)


@jobs.handler("order.ship", retry=Exponential())
async def ship(placed: Placed, context: Context, shop: Shop) -> bool:
    """Whether it was this job. The condition makes a second run of it do nothing."""
    return bool(await shop.pool.fetchval(SHIP, placed.order, context.job_id))
