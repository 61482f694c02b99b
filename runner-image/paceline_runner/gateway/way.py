"""How a runner comes in by a gateway: whom its token is for, a registration, and a connection that comes back."""

import asyncio
import contextlib
import itertools
import logging
import random
import socket
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from paceline.claims import Beat
from paceline.job import need
from paceline_runner.gateway.api import Api, NoSocketError, NotAuthorizedError
from paceline_runner.gateway.frames import as_json
from paceline_runner.gateway.poll import PollWire
from paceline_runner.gateway.seat import GatewaySeat, aside
from paceline_runner.gateway.socket import SocketWire
from paceline_runner.ports import Lifeline, Seat
from paceline_runner.settings import Gateway, Settings

FIRST_PAUSE: Final = 0.2
DOUBLED: Final = 5
"""So often a pause is doubled: 6.4 s is the longest."""
MOST_REFUSALS: Final = 3
"""So often a WebSocket is tried against a status 5xx, which may pass."""
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
log = logging.getLogger("paceline.runner")


class GatewayWay:
    """Registers by a request, whose refusal has a reason, and then connects."""

    place = "the gateway"

    def __init__(self, settings: Settings, gateway: Gateway, loop: asyncio.AbstractEventLoop) -> None:
        """`loop` is the keeper's: everything that talks to the gateway is in there."""
        self._settings, self._gateway, self._loop = settings, gateway, loop
        self._opened: Api | None = None
        self._refusals = 0
        self.runner = settings.name
        parts = urlsplit(gateway.url)
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            log.warning("the gateway's address begins with http: on its way the token can be read")

    @property
    def _api(self) -> Api:
        assert self._opened is not None
        return self._opened

    def pauses(self) -> Iterator[float]:
        """Longer each time, and not for all runners the same: a gateway that comes back has to serve them all."""
        for number in itertools.count():
            asked = 0.0 if self._opened is None else self._opened.retry_after * random.uniform(1.0, 1.5)  # noqa: S311
            yield max(asked, FIRST_PAUSE * 2 ** min(number, DOUBLED) * random.uniform(0.5, 1.0))  # noqa: S311

    async def connect(self) -> None:
        """Ask whom the token is for."""
        await aside(self._loop, self._connect())

    async def register(self, kinds: tuple[str, ...]) -> tuple[Seat, float]:
        """Become that Runner."""
        return await aside(self._loop, self._register(kinds))

    async def lifeline(self, seat: Seat, wake: Callable[[], None], told: Callable[[Beat], None]) -> Lifeline:
        """By a WebSocket; by long polls where none comes through although requests do."""
        assert isinstance(seat, GatewaySeat)
        if seat.returns:  # so do all the others of a gateway that has closed
            await asyncio.sleep(FIRST_PAUSE * random.random())  # noqa: S311 -- no secret
        if not seat.polling:
            try:
                wire = await SocketWire.open(self._api, seat, wake, told)
            except NoSocketError as error:
                self._refusals += 1
                if error.passing and self._refusals < MOST_REFUSALS:
                    raise
                try:
                    await self._api.call("GET", "/runner/me")
                except NotAuthorizedError:
                    told(Beat("fenced", cause="Revoked"))
                    raise
                log.warning("no WebSocket comes through to %s (%s): it is asked by long polls", self._api.place, error)
                seat.polling = True
            else:
                self._refusals = 0
                log.info("connected to %s by WebSocket", self._api.place)
                return wire
        return PollWire(self._api, seat, wake, told)

    async def keep_house(self, pool: str, runners: Callable[[], int]) -> None:
        """The gateway does."""

    async def close(self) -> None:
        """Close what is open."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                await aside(self._loop, self._close())

    async def _connect(self) -> None:
        await self._close()
        self._opened = Api(self._gateway)
        me = await self._opened.call("GET", "/runner/me")
        self._check(me)
        self.runner = me["runner"]

    def _check(self, me: dict[str, Any]) -> None:
        """Before anything is registered: that would end the runner which the token is really for."""
        settings, given = self._settings, f"{self._settings.namespace}/{self._settings.group}"
        group = f"{me['namespace']}/{me['group']}" if me["group"] else None
        whose = f'runner "{me["runner"]}" of ' + (f"group {group}" if group else f'pool "{me["pool"]}"')
        need(
            settings.name in ("", me["runner"]),
            f'the token is for {whose}, not for "{settings.name}" (leave the name out, or take the token of that one)',
        )
        need(
            settings.group is None or given == group,
            f"the token is for {whose}, not for group {given} (leave the group out, or take a token of that group)",
        )

    async def _register(self, kinds: tuple[str, ...]) -> tuple[Seat, float]:
        hello = {
            "kinds": kinds, "tags": self._settings.tags, "slots": self._settings.slots,
            "heartbeat_seconds": self._settings.heartbeat, "hostname": socket.gethostname(),
            "revision": self._settings.revision,
        }  # fmt: skip
        welcome = await self._api.call("POST", "/runner/register", as_json(hello))
        return GatewaySeat(welcome, hello, self._api, self._loop), float(welcome["lease_seconds"])

    async def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()
