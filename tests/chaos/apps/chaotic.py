"""The handlers of tests/history, and those that answer, come by the clock, or take their process with them."""

import asyncio
import os
import signal

from history.apps.marking import AGAIN, Work, fail_if_planned, jobs, mark, marked
from paceline import Context

__all__ = ["jobs"]


@jobs.handler("answer", retry=AGAIN)
async def answer(work: Work, context: Context) -> dict[str, int]:
    with marked(context):
        await asyncio.sleep(work.seconds)
        fail_if_planned(work, context)
    return {"n": work.n}


@jobs.handler("cron")
async def cron(_: object, context: Context) -> None:
    with marked(context):
        await asyncio.sleep(0)


@jobs.handler("deadly")
async def deadly(_: Work, context: Context) -> None:
    mark("start", context)
    os.kill(os.getpid(), signal.SIGKILL)
