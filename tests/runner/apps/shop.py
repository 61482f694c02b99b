"""Handlers that leave marks, wait, fail and misbehave in every way that a user's can."""

import asyncio
import logging
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from paceline import Context, Exponential, Fixed, Jobs, Never

SCRATCH = Path(os.environ.get("SCRATCH", "."))
jobs = Jobs()


class Mail(BaseModel):
    """A payload with a shape."""

    to: str


def mark(name: str, text: str) -> None:
    """Add a line to a file; short lines are written in one piece."""
    with (SCRATCH / name).open("a") as file:
        file.write(f"{text}\n")


@jobs.handler("mail")
async def mail(letter: Mail, context: Context) -> dict[str, object]:
    context.log.info("sending to %s", letter.to)
    mark("runs", f"{context.job_id} {context.fence}")
    return {"to": letter.to, "fence": context.fence, "tries": context.tries}


@jobs.handler("count")
async def count(_: object, context: Context) -> None:
    mark("runs", f"{context.job_id} {context.fence}")


@jobs.handler("nap")
async def nap(seconds: float, context: Context) -> str:
    mark("runs", f"{context.job_id} {context.fence}")
    await asyncio.sleep(seconds)
    mark("ends", f"{context.job_id} {context.fence}")
    return "slept"


@jobs.handler("wait", retry=Fixed(timedelta(0)))
async def wait(name: str, context: Context) -> str:
    """Until the file is there."""
    mark("begun", f"{context.job_id} {context.fence}")
    try:
        while not (SCRATCH / name).exists():  # noqa: ASYNC110 -- the test makes it
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        mark("cancelled", f"{context.job_id} {context.should_stop}")
        raise
    mark("seen", f"{context.job_id} {context.fence}")
    return "seen"


@jobs.handler("sync-wait", retry=Fixed(timedelta(0)))
def sync_wait(name: str, context: Context) -> str:
    """The same in a thread; heeds should_stop."""
    mark("begun", f"{context.job_id} {context.fence}")
    while not (SCRATCH / name).exists():
        if context.should_stop:
            mark("stopped", str(context.job_id))
            raise RuntimeError("told to stop")
        time.sleep(0.01)
    return "seen"


@jobs.handler("stubborn", timeout=timedelta(seconds=0.3), retry=Fixed(timedelta(hours=1)))
def stubborn(name: str, context: Context) -> str:
    """Heeds nothing until the file is there."""
    mark("begun", str(context.job_id))
    while not (SCRATCH / name).exists():
        time.sleep(0.01)
    return "at last"


@jobs.handler("deaf", timeout=timedelta(seconds=0.3), retry=Fixed(timedelta(hours=1)))
async def deaf(name: str, context: Context) -> str:
    """Ignores cancellation."""
    mark("begun", str(context.job_id))
    while not (SCRATCH / name).exists():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            mark("deaf", "heard it")
    return "at last"


@jobs.handler("block")
async def block(seconds: float, context: Context) -> str:
    """Never yields."""
    mark("begun", str(context.job_id))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return "blocked"


@jobs.handler("hold")
async def hold(name: str, context: Context) -> str:
    """Never yields until the file is there."""
    mark("begun", str(context.job_id))
    while not (SCRATCH / name).exists():
        time.sleep(0.01)  # noqa: ASYNC251 -- that is what it is for
    return "held"


@jobs.handler("limited", timeout=timedelta(seconds=0.5), retry=Fixed(timedelta(hours=1)))
async def limited(extend: bool, context: Context) -> str:
    if extend:
        context.extend(timedelta(seconds=30))
    context.progress({"extended": extend})
    await asyncio.sleep(1.5)
    return "in time"


@jobs.handler("broken", retry=Fixed(timedelta(0)))
async def broken(text: str, context: Context) -> None:
    context.log.warning("about to break")
    raise ValueError(text)


@jobs.handler("moody", retry=Never())
async def moody(_: object) -> None:
    """Fails in a process that was told so."""
    if "SHOP_FAILS" in os.environ:
        raise RuntimeError("not today")


@jobs.handler("never", retry=Never())
async def never(_: object) -> None:
    raise KeyError("pointless")


@jobs.handler("exit", retry=Exponential())
async def leave(_: object) -> None:
    sys.exit(3)


@jobs.handler("hard-exit")
async def hard_exit(_: object) -> None:
    os._exit(9)


@jobs.handler("not-json")
async def not_json(_: object) -> object:
    return object()


@jobs.handler("self-cancel", retry=Never())
async def self_cancel(_: object) -> None:
    raise asyncio.CancelledError


@jobs.handler("progress")
async def progress(name: str, context: Context) -> None:
    context.progress({"half": True})
    while not (SCRATCH / name).exists():  # noqa: ASYNC110 -- the test makes it
        await asyncio.sleep(0.01)


SAY = "import json, sys; print(json.dumps({'got': json.load(sys.stdin)})); print('said this', file=sys.stderr)"
SLEEP = "import os, pathlib, sys, time; pathlib.Path(sys.argv[1], 'pid').write_text(str(os.getpid())); time.sleep(600)"
jobs.command("command", [sys.executable, "-c", SAY])
jobs.command("command-env", [sys.executable, "-c", "import json, os; print(json.dumps(sorted(os.environ)))"])
jobs.command("command-nap", [sys.executable, "-c", "import json, sys, time; time.sleep(json.load(sys.stdin))"])
jobs.command("command-sleep", [sys.executable, "-c", SLEEP, str(SCRATCH)])


@jobs.handler("segfault", isolation="process", retry=Never())
def segfault(_: object) -> None:
    os.kill(os.getpid(), 11)


@jobs.handler("apart", isolation="process")
def apart(payload: int, context: Context) -> dict[str, int]:
    context.log.info("in a process of its own")
    return {"pid": os.getpid(), "twice": 2 * payload}


@jobs.handler("apart-sleep", isolation="process")
def apart_sleep(_: object, context: Context) -> None:
    (SCRATCH / "pid").write_text(str(os.getpid()))
    time.sleep(600)


@jobs.handler("loud")
async def loud(text: str) -> None:
    print(f"said {text}")  # noqa: T201 -- as users do
    print(f"said {text}", file=sys.stderr)  # noqa: T201 -- as users do
    logging.getLogger("shop").warning(text)


@jobs.handler("loud-sync")
def loud_sync(text: str) -> None:
    print(f"said {text}")  # noqa: T201 -- as users do
    print(f"said {text}", file=sys.stderr)  # noqa: T201 -- as users do
    logging.getLogger("shop").warning(text)


def _forked() -> str:
    child = os.fork()
    if child == 0:
        sys.exit(3)
    os.waitpid(child, 0)
    return "parent"


@jobs.handler("fork")
async def fork(_: object) -> str:
    return _forked()


@jobs.handler("fork-sync")
def fork_sync(_: object) -> str:
    return _forked()


@jobs.handler("later", retry=Fixed(timedelta(seconds=4)))
async def later(_: object, context: Context) -> None:
    """Succeeds with its second try."""
    mark("tried", str(context.job_id))
    if context.tries == 0:
        raise ValueError("not yet")
