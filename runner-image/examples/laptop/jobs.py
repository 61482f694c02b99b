"""A report, and by whom it was made."""

import os
import socket

from pydantic import BaseModel

from paceline import Context, Jobs

jobs = Jobs()


class Report(BaseModel):
    """What comes out."""

    months: dict[str, int]
    by: str


@jobs.handler("report.build")
def build(months: list[str], context: Context) -> Report:
    """Set your breakpoint here: the job is one of the real queue."""
    context.log.info("%d months", len(months))
    return Report(
        months={month: len(month) for month in months}, by=os.environ.get("PACELINE_POD_NAME", socket.gethostname())
    )
