"""Follows a list of objects for ever: list, watch, and list again whenever the watch cannot be trusted.

A list replaces everything that was known. So an object that was deleted while nobody watched is noticed too.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from paceline_dev.node.api import TROUBLE, AnswerError, Api
from paceline_dev.node.wire import Json

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0


class Listener(Protocol):
    """Who wants to know."""

    def replaced(self, found: list[Json]) -> None:
        """These exist, and no others."""

    def changed(self, found: Json) -> None:
        """This is new, or not as it was."""

    def gone(self, found: Json) -> None:
        """This was deleted."""


async def follow(api: Api, path: str, selector: str, listener: Listener, trouble: Callable[[str], None]) -> None:
    """Tell the listener, until cancelled; an API server that is away is asked again at growing intervals."""
    pause = FIRST_PAUSE
    while True:
        try:
            found = await api.get(path, fieldSelector=selector)
            listener.replaced(found["items"])
            pause = FIRST_PAUSE
            await _watch(api, path, selector, found["metadata"]["resourceVersion"], listener)
        except AnswerError as error:
            if error.code != 410:
                trouble(f"watching {path}: {error}")
        except TROUBLE as error:
            trouble(f"watching {path}: {str(error) or type(error).__name__}")
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


async def _watch(api: Api, path: str, selector: str, version: str, listener: Listener) -> None:
    """Watch on from a version; when the server ends a watch in peace, the next goes on where it was."""
    while True:
        heard = False
        async for kind, found in api.watch(path, version, fieldSelector=selector):
            heard = True
            version = found["metadata"]["resourceVersion"]
            if kind == "DELETED":
                listener.gone(found)
            elif kind != "BOOKMARK":
                listener.changed(found)
        if not heard:
            return
