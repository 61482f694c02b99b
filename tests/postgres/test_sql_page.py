"""The page of SQL functions has those that a login may call in a migrated database, with their arguments."""

from paceline.queue import Queue
from paceline_dev.reference.sql import for_logins

GRANTED = """
SELECT p.proname AS name, coalesce(p.proargnames[:p.pronargs], '{}') AS arguments
  FROM pg_proc p
 WHERE p.pronamespace = 'paceline'::regnamespace AND has_function_privilege('public', p.oid, 'EXECUTE')
"""


async def test_it_has_what_everybody_may_call_and_nothing_else(queue: Queue) -> None:
    granted = {row["name"]: row["arguments"] for row in await queue.database.rows(GRANTED)}
    told = {each.name: [argument.split()[0] for argument in each.given] for each in for_logins()}
    assert told == granted
