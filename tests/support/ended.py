"""How all jobs of a database have ended. It needs only the SDK: in a container `python -` reads it from stdin."""

import asyncio
import json
import os
from typing import TypedDict

from paceline.database import Database
from paceline.reading import Reader

MANY = 1000


class Ended(TypedDict):
    """Of all jobs."""

    live: int
    dead: int
    by: dict[str, int]
    """How many each runner has done."""
    twice: list[int]
    """Those that somebody began and did not finish: tried again, lost, or handed back."""


async def look(url: str) -> Ended:
    """Ask the database."""
    async with await Database.open(url) as database:
        reader, by, twice = Reader(database), dict[str, int](), list[int]()
        live = await reader.list_jobs(limit=MANY)  # first: what has ended by then is among the others
        for job in await reader.list_finished(limit=MANY):
            by[job.runner or ""] = by.get(job.runner or "", 0) + (job.state == "done")
            attempts = [each.outcome for each in await reader.job_attempts(job.id)]
            if (job.state, job.tries, job.losses) != ("done", 0, 0) or attempts not in ([], ["done"]):
                twice.append(job.id)
        dead = await reader.list_dead(limit=MANY)
    return Ended(live=len(live), dead=len(dead), by=by, twice=twice)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(look(os.environ["PACELINE_DATABASE_URL"]))))  # noqa: T201 -- this is its answer
