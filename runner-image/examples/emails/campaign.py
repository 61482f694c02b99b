"""Put one mail for each address of a file into the queue: python campaign.py NAME FILE."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import asyncpg

from jobs import Mail, jobs
from paceline import NewJob, Queue

BATCH = 1000
TABLE = """
CREATE TABLE IF NOT EXISTS mailed (
    campaign text, address text, at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (campaign, address)
)"""
NEW = "INSERT INTO mailed (campaign, address) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING RETURNING address"


async def start(url: str, campaign: str, addresses: Sequence[str]) -> int:
    """How many are new. Who is in `mailed` has a job, or has had one: both are written in one transaction."""
    queue = await Queue.connect(url, "mails", connections=1)
    connection = await asyncpg.connect(url)
    made = 0
    try:
        await connection.execute(TABLE)
        for first in range(0, len(addresses), BATCH):
            async with connection.transaction():
                new = await connection.fetch(NEW, campaign, addresses[first : first + BATCH])
                batch = [mail(campaign, row["address"]) for row in new]
                made += len(await queue.enqueue_many(batch, connection=connection))
    finally:
        await connection.close()
        await queue.close()
    return made


def mail(campaign: str, address: str) -> NewJob:
    """While one is live for this address, there is no second, whoever asks for it."""
    text = f"Hello {address}, {campaign} is here."
    return jobs.job(
        "mail.send", Mail(to=address, subject=f"News of {campaign}", text=text), dedupe=f"{campaign}/{address}"
    )


def main() -> None:
    """Read the file: an address in each line, and each of them once."""
    campaign, file = sys.argv[1:]
    lines = (line.strip().lower() for line in Path(file).read_text().splitlines())
    addresses = list(dict.fromkeys(filter(None, lines)))
    made = asyncio.run(start(os.environ["PACELINE_DATABASE_URL"], campaign, addresses))
    print(f"{made} of {len(addresses)} are new")


if __name__ == "__main__":
    main()
