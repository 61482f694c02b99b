"""What many ask for at the same time goes to the database together: one round trip and one commit for all of them.

The first goes at once. Those that come while it is under way wait for it and go with the next; so nobody waits for a
timer, and the more there is to do the larger the batches are. Where there is no hurry, each waits a little for others.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from paceline.errors import PacelineError

LARGEST: Final = 500
T = TypeVar("T")
R = TypeVar("R")
Send = Callable[[Sequence[T]], Awaitable[Sequence[R | PacelineError]]]
"""Does something for several; answers for each of them, in their order, or raises for all."""


class Together(Generic[T, R]):
    """Collects while something is under way."""

    def __init__(self, send: Send[T, R], *, gather_seconds: float = 0) -> None:
        """`send` is never called twice at the same time."""
        self._send, self._gather_seconds = send, gather_seconds
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._sending: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """Nothing is under way."""
        return self._sending is None

    async def do(self, item: T) -> R:
        """Do it for one, with whoever comes at the same time."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())
        return await future

    async def _send_all(self) -> None:
        try:
            while self._waiting:
                if self._gather_seconds:
                    await asyncio.sleep(self._gather_seconds)
                # whoever has been given up meanwhile has had an answer that says so: it must not be done after that
                waiting = [each for each in self._waiting if not each[1].done()]
                batch, self._waiting = waiting[:LARGEST], waiting[LARGEST:]
                if batch:
                    await self._send_some(batch)
        finally:
            self._sending = None

    async def _send_some(self, batch: list[tuple[T, "asyncio.Future[R]"]]) -> None:
        try:
            answers = await self._send([item for item, _ in batch])
        except Exception as error:
            for _, future in batch:
                if not future.done():  # whoever asked may have gone
                    future.set_exception(error)
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, PacelineError):
                future.set_exception(answer)
            else:
                future.set_result(answer)
