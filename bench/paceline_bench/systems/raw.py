"""Two statements on the slimmest table that can be a queue; Paceline's own table needs no system of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from paceline_bench.server import connected
from paceline_bench.systems import BODY, Produce, System

# the same vacuum settings as Paceline's own table, so that it is not slowed down by them
SCHEMA = """
CREATE TABLE raw_job (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state "char" NOT NULL DEFAULT 'r', payload jsonb NOT NULL)
WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
      autovacuum_vacuum_cost_delay = 0);
CREATE INDEX raw_ready ON raw_job (id) WHERE state = 'r';
"""


async def install(url: str) -> None:
    """Make the table."""
    async with connected(url) as connection:
        await connection.execute(SCHEMA)


@asynccontextmanager
async def producer(url: str, _: str) -> AsyncIterator[Produce]:
    """One statement with an array, also for one job."""
    async with connected(url) as connection:
        insert = await connection.prepare("INSERT INTO raw_job (payload) SELECT p FROM unnest($1::jsonb[]) p")

        async def produce(jobs: int) -> None:
            await insert.fetch([BODY] * jobs)

        yield produce


SYSTEM = System(name="raw", table="raw_job", install=install, producer=producer)
