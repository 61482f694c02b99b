"""What both kinds of connection to a gateway have in common."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Protocol

from paceline.claims import Beat
from paceline_runner.gateway.api import Api
from paceline_runner.gateway.frames import Report, as_json
from paceline_runner.gateway.seat import GatewaySeat


class Wire(Protocol):
    """What a registration says by it. Nothing here waits: a broken wire fails what it still owes."""

    ordered: bool
    """Whether the gateway hears things in the order in which they are said."""

    def post(self, report: Report) -> "asyncio.Future[bool]":
        """Say it; whether it counts is known later."""

    def ready(self, want: int) -> None:
        """So many runs can come; 0 also where some were wanted before."""


class Ending:
    """The end of a wire, whoever makes it."""

    listening = True

    def __init__(self, api: Api, seat: GatewaySeat, told: Callable[[Beat], None]) -> None:
        """`told` hears what is said between heartbeats."""
        self._api, self._seat, self._told = api, seat, told
        self._closed = asyncio.Event()

    @property
    def closed(self) -> bool:
        """Whether it has ended, by us or by the gateway."""
        return self._closed.is_set()

    async def until_closed(self, seconds: float) -> None:
        """Wait for its end, so long at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closed.wait()

    async def abandon(self, *, leaving: bool) -> None:
        """Its jobs go back, or are lost with the cause."""
        cause = None if leaving else "HandlerStuck"
        await self._api.call("POST", "/runner/deregister", as_json({"incarnation": self._seat.id, "cause": cause}))
