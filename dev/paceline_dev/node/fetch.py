"""Secrets and ConfigMaps, each asked for once a moment however many pods start with it."""

import asyncio
import time
from collections.abc import Mapping

from paceline_dev.node.api import TROUBLE, AnswerError, Api
from paceline_dev.node.environment import Kind, decode

FRESH_SECONDS = 0.2
"""A hundred pods that start together ask the API server once; a changed Secret is seen by the next that starts."""
PAUSE = 0.5


class Fetcher:
    """Reads through the API, and waits when there is none."""

    def __init__(self, api: Api) -> None:
        """Begin with nothing."""
        self._api = api
        self._known: dict[tuple[Kind, str, str], tuple[float, asyncio.Task[Mapping[str, str] | None]]] = {}

    async def __call__(self, kind: Kind, namespace: str, name: str) -> Mapping[str, str] | None:
        """The data; None if there is no such object."""
        key, now = (kind, namespace, name), time.monotonic()
        found = self._known.get(key)
        if found is None or now - found[0] > FRESH_SECONDS:
            found = self._known[key] = (now, asyncio.create_task(self._read(*key)))
        return await asyncio.shield(found[1])

    async def _read(self, kind: Kind, namespace: str, name: str) -> Mapping[str, str] | None:
        while True:
            try:
                found = await self._api.find(f"/api/v1/namespaces/{namespace}/{kind}s/{name}")
                return None if found is None else decode(kind, found)
            except (AnswerError, *TROUBLE):
                await asyncio.sleep(PAUSE)

    async def close(self) -> None:
        """Ask for nothing any more."""
        tasks = [task for _, task in self._known.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
