"""What a claim costs in a database that has been through something: asked beside the work, and undone."""

import json
from collections.abc import Sequence

import asyncpg

from chaos.record import Cost
from chaos.work import FIXED, SHARED

WANT = 50
WARM = 6
"""plpgsql makes five plans for the values at hand, then may settle for one that fits all: that one is counted."""
POOLS = (SHARED, FIXED)
"""In a pool with a leader only the leader claims."""
REGISTER = "SELECT incarnation FROM paceline.register('counts', $1, '{*}', p_slots => 50)"
WAITING = 1000
"""So many that a claim which looks at all of them stands out."""
WAIT = """
SELECT count(*) FROM paceline.enqueue($1, array_fill('quick'::text, ARRAY[$2::integer]),
                                      array_fill('{}'::jsonb, ARRAY[$2::integer]))"""
CLAIM = "SELECT cardinality(ids) FROM paceline.step({}, {})"
NO_TICK = "UPDATE paceline.tick SET next_at = 'infinity'"
"""Whoever claims does the housekeeping that is due, and what that touches is none of the claim's."""
ROWS = """
SELECT coalesce(sum(idx_tup_fetch + seq_tup_read), 0)::bigint FROM pg_stat_xact_user_tables
 WHERE schemaname = 'paceline' AND relname = 'job'"""


async def claim_costs(connection: "asyncpg.Connection[asyncpg.Record]", when: str) -> list[Cost]:
    """Of one claim of 50 in each pool; nobody sees the jobs that are made for it."""
    return [await _cost(connection, pool, when) for pool in POOLS]


async def _cost(connection: "asyncpg.Connection[asyncpg.Record]", pool: str, when: str) -> Cost:
    undone = connection.transaction()
    await undone.start()
    try:
        await connection.execute(NO_TICK)  # first, so that whoever does it just now is waited for with empty hands
        runner = await connection.fetchval(REGISTER, pool)
        await connection.fetchval(WAIT, pool, WAITING)
        await connection.execute("ANALYZE paceline.job")  # as autovacuum does soon after so many have come
        claim = CLAIM.format(int(runner), WANT)
        for _ in range(WARM):
            once = connection.transaction()
            await once.start()
            await connection.fetchval(claim)
            await once.rollback()
        before = await connection.fetchval(ROWS)
        plan = await connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {claim}")
        after = await connection.fetchval(ROWS)
        jobs = await connection.fetchval("SELECT count(*) FROM paceline.job WHERE incarnation = $1", runner)
        return Cost(when=when, pool=pool, jobs=jobs, rows=after - before, buffers=buffers(json.loads(plan)))
    finally:
        await undone.rollback()


def buffers(plan: Sequence[dict[str, dict[str, int]]]) -> int:
    """Pages that a statement touched, with all that the functions in it have done."""
    top = plan[0]["Plan"]
    return top["Shared Hit Blocks"] + top["Shared Read Blocks"]
