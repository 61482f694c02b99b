"""What the handlers of all workers do: nothing, and be counted; or say when they began."""

import asyncio
import sys
import time
from typing import Final

INTERVAL: Final = 0.25
STAMP: Final = "began"
COUNT: Final = "done"


class Tally:
    """How many jobs a worker has done so far."""

    jobs = 0


tally: Final = Tally()


def said(word: str, *numbers: object) -> None:
    """One line in the worker's log."""
    sys.stdout.write(" ".join(map(str, (word, *numbers))) + "\n")
    sys.stdout.flush()


async def tell() -> None:
    """The tally now and then, with the machine's clock."""
    while True:
        said(COUNT, time.time(), tally.jobs)
        await asyncio.sleep(INTERVAL)


async def noop(*_: object) -> None:
    """Be counted."""
    tally.jobs += 1


async def stamp(*_: object) -> None:
    """Say when."""
    said(STAMP, time.time())


async def noop_keyword(**_: object) -> None:
    """The same, for callers by keyword."""
    await noop()


async def stamp_keyword(**_: object) -> None:
    """The same, for callers by keyword."""
    await stamp()
