"""The application that `paceline run` runs here: work that is none."""

import time

from pydantic import JsonValue

from paceline import Jobs

jobs = Jobs()


@jobs.handler("noop")
async def noop(_: JsonValue) -> None:
    """Do nothing."""


@jobs.handler("stamp")
async def stamp(_: JsonValue) -> float:
    """Say when the handler began; the database is on this machine and has the same clock."""
    return time.time()
