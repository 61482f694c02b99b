"""Tokens that have been looked up, kept for as long as the database would tell that one of them has changed.

A token that is revoked must be worth nothing at once, at every gateway. So only a gateway that hears the database keeps
any; one behind PgBouncer without a listen URL, or whose connection broke, looks each token up every time.
"""

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Final

from paceline.errors import PacelineError
from paceline.line import Line, Lines
from paceline.tokens import CHANNEL, Token

KEEP_SECONDS: Final = 60.0
MOST: Final = 10_000
PROBE_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = 5.0
"""A connection that looks open and is dead is found out after PROBE + PATIENCE."""
PAUSE_SECONDS: Final = 1.0
DEAF_SECONDS: Final = 60.0
"""What is between us and the database does not change every second; a server that was slow to tell is quick again."""
log = logging.getLogger("paceline.gateway")


class KnownTokens:
    """Good tokens by their ids."""

    def __init__(self, lines: Lines) -> None:
        """`lines` are opened past PgBouncer."""
        self._lines = lines
        self._kept: OrderedDict[str, tuple[Token, float]] = OrderedDict()
        self._hearing = False
        self._changes = 0

    @property
    def hearing(self) -> bool:
        """Whether the database would tell."""
        return self._hearing

    @property
    def changes(self) -> int:
        """How often something was told: what was asked for before a change must not be kept after it."""
        return self._changes

    def get(self, number: str) -> Token | None:
        """A token that is good, if it is known."""
        token, until = self._kept.get(number, (None, 0.0))
        return token if time.monotonic() < until else None

    def keep(self, token: Token, asked_at: int) -> None:
        """Remember a token that was asked for when there had been `asked_at` changes."""
        if not self._hearing or not token.valid or asked_at != self._changes:
            return
        seconds = KEEP_SECONDS if token.seconds_left is None else min(KEEP_SECONDS, token.seconds_left)
        self._kept.pop(token.id, None)
        self._kept[token.id] = (token, time.monotonic() + seconds)
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hear while the block runs."""
        listening = asyncio.create_task(self._listen())
        try:
            yield
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    def _changed(self, number: str) -> None:
        self._changes += 1
        self._kept.pop(number, None)

    def _forget(self) -> None:
        self._hearing = False
        self._changes += 1
        self._kept.clear()

    async def _listen(self) -> None:
        well = True
        while True:
            line: Line | None = None
            try:
                line = await self._lines.open()
                async with asyncio.timeout(PATIENCE_SECONDS):
                    self._hearing = await line.hear(CHANNEL, self._changed)
                if not self._hearing:
                    if well:
                        log.warning("each token is looked up every time: give a way past PgBouncer with --listen-url")
                    await line.until_closed(DEAF_SECONDS)
                well = self._hearing
                while self._hearing and not line.closed:
                    await line.until_closed(PROBE_SECONDS)
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await line.value("SELECT 1")
            except (PacelineError, TimeoutError) as error:
                log.debug("tokens are not kept for now: %s", error)
            finally:
                self._forget()
                if line is not None:
                    line.close()
            await asyncio.sleep(PAUSE_SECONDS)
