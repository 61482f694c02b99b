"""Waiting on behalf of a request: until there is an answer, the time is over, or nobody is there to hear it."""

import asyncio
from collections.abc import Coroutine
from typing import Final, TypeVar

from fastapi import Request

LAST_SECONDS: Final = 7.0
"""So long somebody who cannot ask elsewhere may still wait when this gateway closes; after 10 s he would be cut off."""
T = TypeVar("T")


class HungUpError(Exception):
    """Whoever asked has gone."""


class LeavingError(Exception):
    """This gateway is about to close."""


async def patiently(
    request: Request, answer: Coroutine[object, object, T], seconds: float, leaving: asyncio.Event, grace: float = 0
) -> T:
    """The answer; or a TimeoutError, a HungUpError, or (so many seconds after `leaving` is set) a LeavingError."""
    waiting = asyncio.create_task(answer)
    gone = asyncio.create_task(_hung_up(request))
    closed = asyncio.create_task(_closed(leaving, grace))
    tasks: list[asyncio.Task[object]] = [waiting, gone, closed]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            return waiting.result()
        if gone.done():
            raise HungUpError
        if closed.done():
            raise LeavingError
        raise TimeoutError
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _hung_up(request: Request) -> None:
    """Return when the connection has gone: after the body nothing else can come."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _closed(leaving: asyncio.Event, grace: float) -> None:
    """Return when nobody can wait here any more."""
    await leaving.wait()
    await asyncio.sleep(grace)
