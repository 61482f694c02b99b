"""Handlers that say when they began, that they go on, and how they ended, each in one line of their process's file.

A line is written by one call to a file that is only appended to, so it is whole or not there, also under SIGKILL.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from paceline import Context, Fixed, Jobs

AGAIN = Fixed(timedelta(seconds=0.1))
SIGN_OF_LIFE = 0.05
_file = os.open(
    Path(os.environ["SCRATCH"]) / f"marks.{os.getpid()}", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
)
jobs = Jobs()


class Work(BaseModel):
    """What a job of the plan asks for."""

    n: int
    seconds: float = 0.0
    fails: int = 0
    """So many tries fail before one does not."""


def mark(what: str, context: Context) -> None:
    os.write(_file, f"{what} {context.job_id} {context.fence} {time.monotonic()!r}\n".encode())


@contextmanager
def marked(context: Context) -> Iterator[None]:
    mark("start", context)
    try:
        yield
    except RuntimeError:
        mark("failed", context)
        raise
    except BaseException:
        mark("stopped", context)
        raise
    mark("ok", context)


def fail_if_planned(work: Work, context: Context) -> None:
    if context.tries < work.fails:
        raise RuntimeError(f"try {context.tries + 1} of job {work.n} fails by plan")


@jobs.handler("quick", retry=AGAIN)
async def quick(work: Work, context: Context) -> None:
    with marked(context):
        await asyncio.sleep(work.seconds)
        fail_if_planned(work, context)


@jobs.handler("metered", retry=AGAIN)
async def metered(work: Work, context: Context) -> None:
    """Of a kind with a rate."""
    await quick(work, context)


@jobs.handler("slow", retry=AGAIN)
async def slow(work: Work, context: Context) -> None:
    with marked(context):
        end = time.monotonic() + work.seconds
        while time.monotonic() < end:
            await asyncio.sleep(SIGN_OF_LIFE)
            mark("still", context)


@jobs.handler("blocking", retry=AGAIN)
async def blocking(work: Work, context: Context) -> None:
    """Does not let its loop go on."""
    with marked(context):
        time.sleep(work.seconds)  # noqa: ASYNC251 -- the point of it


@jobs.handler("threaded", retry=AGAIN)
def threaded(work: Work, context: Context) -> None:
    with marked(context):
        time.sleep(work.seconds)
        fail_if_planned(work, context)
