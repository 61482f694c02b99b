"""What a fault is done with, and how it says that it went wrong."""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from chaos.producers import Producers
from chaos.stage import Stage
from paceline.errors import PacelineError
from paceline_dev.node.api import TROUBLE, AnswerError


class NotAsItMust(Exception):  # noqa: N818 -- a finding, not an error of the program
    """What was wanted of the product did not come."""


class NotHere(Exception):  # noqa: N818 -- see above
    """This machine cannot do it; the message says why."""


@dataclass
class Scene:
    """One fault of one round."""

    stage: Stage
    producers: Producers
    draw: random.Random
    stopped: dict[int, float] = field(default_factory=dict)
    """Runners' processes that were sent SIGSTOP, and when."""
    hit: list[str] = field(default_factory=list)
    """Pods and diallers that it is done to: written down before it is done."""
    deadly: list[int] = field(default_factory=list)
    """Jobs that kill whoever claims them."""

    @property
    def diallers(self) -> list[str]:
        """All who depend on a gateway: they may change from one to the other at any time."""
        return [seat.name for seat in self.stage.diallers]

    async def busy_pods(self) -> list[str]:
        """Those that work and have a process here; none where nobody can be asked: a second fault may be in the way."""
        with contextlib.suppress(PacelineError, AnswerError, *TROUBLE):
            return [pod for pod in await self.stage.busy_pods() if self.stage.node_of(pod)]
        return []

    async def busy_pod(self) -> str:
        """One that works; there is one sooner or later, as there is always work."""
        found: list[str] = []

        async def some() -> bool:
            found[:] = await self.busy_pods()
            return bool(found)

        await self.until(some, "some pod works")
        return self.draw.choice(found)

    def need(self, true: object, what: str) -> None:
        if not true:
            raise NotAsItMust(what)

    async def until(self, true: Callable[[], Awaitable[object]], what: str, seconds: float = 90.0) -> None:
        """Wait for what the product must come to by itself."""
        end = time.monotonic() + seconds
        while not await true():
            if time.monotonic() > end:
                raise NotAsItMust(f"it never came to this: {what}")
            await asyncio.sleep(0.2)


Blow: TypeAlias = Callable[[Scene], Awaitable[None]]
