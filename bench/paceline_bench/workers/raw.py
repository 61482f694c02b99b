"""Claim a batch, delete it, again: nothing else happens to a job."""

import asyncio
import os
import sys

import asyncpg
import uvloop

from paceline_bench.workers import URL

TABLES = {"slim": ("raw_job", "id"), "own": ("paceline.job", "lane, priority, seq")}
"""Where the jobs are, and in which order they are taken."""
CLAIM = """
UPDATE {table} SET state = 'x'
 WHERE id = ANY (ARRAY(SELECT id FROM {table} WHERE state = 'r' ORDER BY {order} LIMIT $1 FOR UPDATE SKIP LOCKED))
RETURNING id, payload"""
ACK = "DELETE FROM {table} WHERE id = ANY ($1)"
IDLE = 0.05


async def work(url: str, which: str, batch: int) -> None:
    """One connection's share."""
    connection = await asyncpg.connect(url)
    table, order = TABLES[which]
    claim = await connection.prepare(CLAIM.format(table=table, order=order))
    ack = await connection.prepare(ACK.format(table=table))
    while True:
        if rows := await claim.fetch(batch):
            await ack.fetch([row[0] for row in rows])
        else:
            await asyncio.sleep(IDLE)


async def main(which: str, batch: int, connections: int) -> None:
    """All connections in one process."""
    await asyncio.gather(*(work(os.environ[URL], which, batch) for _ in range(connections)))


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], *map(int, sys.argv[2:4])))
