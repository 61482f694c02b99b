"""One receiver of alerts: what it is still to be told, one request after the other, again and again while it is away.

What waits here waits in memory alone. The groups' status knows what has not been told, and says it again: to one that
has no room left, and to the operator that acts next.
"""

import asyncio
import logging
import random
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from paceline_operator.adapters.post import Answer
from paceline_operator.adapters.retry import Retries
from paceline_operator.domain.alerts.notice import Ident, Notice

log = logging.getLogger("paceline.operator")

REMEMBERED: Final = 10_000
"""So many notices that were told are not told again."""
LONGEST_WAIT: Final = 600.0
"""Whatever a receiver asks for."""

Send = Callable[[Sequence[Notice]], Awaitable[Answer]]
"""One request about notices of one alert."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast, how long and how much."""

    gather: float = 5.0
    """Seconds for which others of the same alert are waited for: a database that is away is told once, not by group."""
    retries: Retries = field(default_factory=lambda: Retries(first=1.0, longest=60.0, total=3600.0))
    """Who has taken nothing for the total is given up on, until the alert is told again."""
    room: int = 1000
    """Notices that may wait."""
    batch: int = 50
    """Notices in one request."""


class Courier:
    """For one URL. Its task begins with the first notice."""

    def __init__(
        self, name: str, send: Send, *, count: Callable[[str], None], settle: Callable[[Notice], None], pace: Pace
    ) -> None:
        """`name` is what the log calls it; `settle` is called when a notice was taken, or given up."""
        self._name, self._send, self._count, self._settle, self._pace = name, send, count, settle, pace
        self.settled: OrderedDict[Ident, datetime] = OrderedDict()
        """What needs no telling any more, and since when."""
        self._waiting: OrderedDict[str, tuple[Notice, float]] = OrderedDict()
        """By fingerprint the newest, and since when it waits."""
        self._some = asyncio.Event()
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    def take(self, notice: Notice) -> None:
        """Tell it, unless it has been, or waits already."""
        key = notice.fingerprint
        waiting = self._waiting.get(key)
        if notice.ident in self.settled or (waiting is not None and waiting[0].ident == notice.ident):
            return
        if waiting is None and len(self._waiting) >= self._pace.room:
            self._count("dropped")
            return
        self._waiting[key] = notice, time.monotonic()
        self._some.set()
        if self._task is None or self._task.done():  # one that broke begins anew
            self._task = asyncio.create_task(self._run(), name=self._name)

    def cancel(self) -> None:
        """Tell nothing more."""
        if self._task is not None:
            self._task.cancel()

    async def stop(self) -> None:
        """Tell nothing more, and be done with it."""
        self.cancel()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._some.wait()
            await asyncio.sleep(self._pace.gather)
            while self._waiting:
                batch = self._batch()
                if (answer := await self._send(batch)).trouble:
                    await self._failed(batch, answer)
                else:
                    self._taken(batch)
            self._some.clear()

    def _batch(self) -> list[Notice]:
        """Those of one alert, the one that has waited for longest first."""
        waiting = [notice for notice, _ in self._waiting.values()]
        return [each for each in waiting if each.name == waiting[0].name][: self._pace.batch]

    def _taken(self, batch: list[Notice]) -> None:
        self._count("delivered")
        if self._failures:
            log.info("%s takes alerts again", self._name)
        self._failures = 0
        for notice in batch:
            self._done(notice)

    async def _failed(self, batch: list[Notice], answer: Answer) -> None:
        """Wait; those who have waited for too long are given up, and others come first now."""
        self._count("failed")
        wait = self._pace.retries.wait(self._failures, random.random(), min(answer.wait, LONGEST_WAIT))  # noqa: S311
        level = logging.INFO if self._failures else logging.WARNING
        log.log(level, "%s did not take %s: %s; again in %.1f s", self._name, batch[0].name, answer.trouble, wait)
        self._failures += 1
        for notice in batch:
            since = self._waiting[notice.fingerprint][1]
            self._waiting.move_to_end(notice.fingerprint)
            if not self._pace.retries.left(time.monotonic() - since):
                self._count("given_up")
                self._done(notice)
        await asyncio.sleep(wait)

    def _done(self, notice: Notice) -> None:
        """Settled, unless something newer about the same alert has come meanwhile: that waits on."""
        if self._waiting[notice.fingerprint][0].ident == notice.ident:
            del self._waiting[notice.fingerprint]
        self.settled[notice.ident] = datetime.now(UTC)
        while len(self.settled) > REMEMBERED:
            self.settled.popitem(last=False)
        self._settle(notice)
