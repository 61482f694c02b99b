"""The handler of the demo's runners. It leaves a line when it comes to its end: the queue's word is not enough."""

import asyncio
import os
from pathlib import Path

from paceline import Context, Jobs

LEDGER = "DEMO_LEDGER"
"""The variable that names the file."""
jobs = Jobs()


@jobs.handler("work")
async def work(seconds: float, context: Context) -> None:
    """Take a while, and write it down; a short line is written in one piece."""
    await asyncio.sleep(seconds)
    _note(f"{context.job_id}\n")


def _note(line: str) -> None:
    with Path(os.environ[LEDGER]).open("a") as file:
        file.write(line)
