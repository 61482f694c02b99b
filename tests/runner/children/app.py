# ruff: noqa: T201 -- what handlers print is what this is about
"""An application whose handlers run in processes of their own, and some of which misbehave."""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from pydantic import JsonValue

from paceline.handlers import Context, Jobs
from paceline.retry import Custom, Decision, Fixed, GiveUp, Retry

jobs = Jobs()
again = Fixed(timedelta(seconds=7))


def _decide(tries: int, error: BaseException) -> Decision:
    """A policy that no other process could be sent: it knows where it runs."""
    return Retry(timedelta(seconds=os.getpid() + tries)) if "again" in str(error) else GiveUp("this is pointless")


@jobs.handler("echo", isolation="process", retry=again)
def echo(payload: JsonValue, context: Context) -> JsonValue:
    return {
        "payload": payload,
        "pid": os.getpid(),
        "job": context.job_id,
        "fence": context.fence,
        "tries": context.tries,
    }


@jobs.handler("echo.async", isolation="process")
async def echo_async(payload: JsonValue) -> JsonValue:
    await asyncio.sleep(0)
    return payload


@jobs.handler("speak", isolation="process")
def speak(payload: str, context: Context) -> None:
    print("to stdout", payload)
    print("to stderr", payload, file=sys.stderr)
    os.write(1, b"to the descriptor\n")
    context.log.info("to the log %s", payload)


@jobs.handler("steps", isolation="process")
def steps(payload: int, context: Context) -> int:
    for number in range(payload):
        context.progress({"step": number})
    context.extend(timedelta(minutes=2))
    return payload


@jobs.handler("fail", isolation="process", retry=Custom(_decide))
def fail(payload: str) -> None:
    raise ValueError(payload)


@jobs.handler("leave", isolation="process", retry=again)
def leave(payload: int) -> None:
    sys.exit(payload)


@jobs.handler("unwritable", isolation="process")
def unwritable(payload: JsonValue) -> object:
    return object()


@jobs.handler("crash", isolation="process", retry=again)
def crash(payload: str) -> None:
    print("last words")
    match payload:
        case "exit":
            os._exit(3)
        case "hang up":
            os.closerange(3, 100)
            time.sleep(60)
        case "orphan":
            if os.fork() == 0:
                time.sleep(60)
            os._exit(4)
        case "SIGSEGV":
            ctypes.string_at(0)
        case name:
            os.kill(os.getpid(), signal.Signals[name])


@jobs.handler("heed", isolation="process")
def heed(payload: str, context: Context) -> str:
    """Ends when it is told to, well or not."""
    context.progress("up")
    while not context.should_stop:
        time.sleep(0.01)
    if payload == "raise":
        raise RuntimeError("stopped half-way")
    return "finished"


@jobs.handler("heed.async", isolation="process")
async def heed_async(payload: str, context: Context) -> None:
    context.progress("up")
    try:
        await asyncio.sleep(60)
    finally:
        print("cleaned up")


@jobs.handler("ignore", isolation="process")
def ignore(payload: JsonValue, context: Context) -> None:
    context.progress(os.getpid())
    time.sleep(60)


@jobs.handler("odd", isolation="process")
def odd(payload: str, context: Context) -> str:
    """Does what nobody should."""
    if payload == "extend":
        context.extend(timedelta.max)
    elif payload == "close":
        sys.stdout.close()
    elif payload == "scribble":
        os.write(3, b"\0\0\0\2[]")
        time.sleep(60)
    return payload


class Diary:
    """Something that a worker keeps open."""

    def __init__(self, path: str) -> None:
        self.path = path


@jobs.provider
def diary() -> Iterator[Diary]:
    kept = Diary("")
    yield kept
    Path(kept.path).write_text("closed")


@jobs.handler("keep", isolation="process")
def keep(payload: str, diary: Diary) -> None:
    diary.path = payload


@jobs.handler("descriptors", isolation="process")
def descriptors(payload: JsonValue) -> list[str]:
    """What a program would have open that this one starts without closing anything."""
    listed = subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True, check=True, close_fds=False)
    return [each for each in listed.stdout.split() if each != "3"]
