"""Two statements on the slimmest table that can be a queue; Paceline's own table needs no system of its own."""

from paceline_bench.server import connected
from paceline_bench.systems import BODY, System

# the same vacuum settings as Paceline's own table, so that it is not slowed down by them
SCHEMA = """
CREATE TABLE raw_job (id bigint PRIMARY KEY, state "char" NOT NULL DEFAULT 'r', payload jsonb NOT NULL)
WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
      autovacuum_vacuum_cost_delay = 0);
CREATE INDEX raw_ready ON raw_job (id) WHERE state = 'r';
"""


async def prepare(url: str, jobs: int) -> None:
    """Make the table and fill it."""
    async with connected(url) as connection:
        await connection.execute(SCHEMA)
        await connection.execute(
            "INSERT INTO raw_job (id, payload) SELECT n, $2::jsonb FROM generate_series(1, $1::bigint) n", jobs, BODY
        )


SYSTEM = System(name="raw", table="raw_job", prepare=prepare)
