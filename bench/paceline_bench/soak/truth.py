"""What became of every job that somebody was told of."""

from collections.abc import Collection
from typing import Final

from paceline.database import Database

PLACES: Final = """
SELECT count(*) FILTER (WHERE n = 0), count(*) FILTER (WHERE n > 1)
  FROM (SELECT told.id, (SELECT count(*) FROM paceline.job j WHERE j.id = told.id)
             + (SELECT count(*) FROM paceline.dead d WHERE d.id = told.id)
             + (SELECT count(*) FROM every_end e WHERE e.id = told.id) AS n
          FROM unnest($1::bigint[]) AS told (id)) AS found"""
ENDED: Final = """
WITH every_end AS MATERIALIZED (
    SELECT id FROM paceline.history UNION ALL SELECT id FROM paceline.history_late)"""
DEAD: Final = "SELECT count(*) FROM paceline.dead"
INTERRUPTED: Final = """
SELECT (SELECT count(*) FROM paceline.attempt WHERE outcome IN ('l', 'h'))
     + (SELECT count(*) FROM paceline.attempt_late WHERE outcome IN ('l', 'h'))"""


async def of(database: Database, told: Collection[int]) -> dict[str, int]:
    """Jobs that are nowhere, in two places, given up; and attempts that were lost or handed back."""
    (row,) = await database.rows(ENDED + PLACES, sorted(told))
    return {
        "lost": row[0],
        "twice": row[1],
        "dead": await database.value(DEAD),
        "interrupted": await database.value(INTERRUPTED),
    }
