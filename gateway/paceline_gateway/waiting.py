"""Waiting on behalf of a request: until there is an answer, the time is over, or nobody is there to hear it."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from fastapi import Request

T = TypeVar("T")


class HungUpError(Exception):
    """Whoever asked has gone."""


class LeavingError(Exception):
    """This gateway is about to close."""


async def patiently(
    request: Request, answer: Coroutine[object, object, T], seconds: float, leaving: asyncio.Event | None = None
) -> T:
    """The answer; or a TimeoutError, a HungUpError, or (where `leaving` is given and set) a LeavingError."""
    waiting = asyncio.create_task(answer)
    gone = asyncio.create_task(_hung_up(request))
    tasks: list[asyncio.Task[object]] = [waiting, gone]
    if leaving is not None:
        tasks.append(asyncio.create_task(leaving.wait()))
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            return waiting.result()
        if gone.done():
            raise HungUpError
        if tasks[-1].done():
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
