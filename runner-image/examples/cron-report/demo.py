"""Orders of the last days, to try it with: python demo.py."""

import asyncio
import os

import asyncpg

TABLE = """
CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, placed_at timestamptz NOT NULL, country text NOT NULL,
    cents integer NOT NULL
);
INSERT INTO orders (placed_at, country, cents)
SELECT moment, (ARRAY['at', 'de', 'fr'])[1 + extract(hour FROM moment)::integer % 3], 1999
  FROM generate_series(now() - interval '3 days', now(), interval '10 minutes') moment"""


async def make(url: str) -> None:
    """In a throw-away database."""
    connection = await asyncpg.connect(url)
    await connection.execute(TABLE)
    await connection.close()


if __name__ == "__main__":
    asyncio.run(make(os.environ["PACELINE_DATABASE_URL"]))
