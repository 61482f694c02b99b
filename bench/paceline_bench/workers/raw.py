"""Claim a batch, delete it, again: nothing else happens to a job."""

import asyncio
import os
import sys

import asyncpg
import uvloop

from paceline_bench.workers import URL

CLAIM = """
UPDATE raw_job SET state = 'x'
 WHERE id = ANY (ARRAY(SELECT id FROM raw_job WHERE state = 'r' ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
RETURNING id, payload"""
ACK = "DELETE FROM raw_job WHERE id = ANY ($1)"
IDLE = 0.05


async def work(url: str, batch: int) -> None:
    """One connection's share."""
    connection = await asyncpg.connect(url)
    claim, ack = await connection.prepare(CLAIM), await connection.prepare(ACK)
    while True:
        if rows := await claim.fetch(batch):
            await ack.fetch([row[0] for row in rows])
        else:
            await asyncio.sleep(IDLE)


async def main(batch: int, connections: int) -> None:
    """All connections in one process."""
    await asyncio.gather(*(work(os.environ[URL], batch) for _ in range(connections)))


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:3])))
