"""The usual connection to a gateway: one WebSocket, by which runs are pushed and everything is said."""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any, Final, Self

import aiohttp

from paceline.claims import Beat
from paceline.errors import GatewayError
from paceline.job import JobId
from paceline_runner.gateway.api import ANSWER_SECONDS, Api, NoSocketError, Socket
from paceline_runner.gateway.frames import Report, as_json
from paceline_runner.gateway.seat import GatewaySeat
from paceline_runner.gateway.wire import Ending

PING_SECONDS: Final = 5.0
"""So a connection that is half open is found out in 8 s, long before the lease is over."""
BAD_TOKEN: Final = 4401
TEXT: Final = aiohttp.WSMsgType.TEXT
log = logging.getLogger("paceline.runner")


class SocketWire(Ending):
    """One socket of one registration, from its welcome to its end."""

    ordered = True

    def __init__(self, socket: Socket, api: Api, seat: GatewaySeat, told: Callable[[Beat], None]) -> None:
        """Use a socket that is open; `open` makes one."""
        super().__init__(api, seat, told)
        self._socket = socket
        self._unsent: asyncio.Queue[str] = asyncio.Queue()
        self._answers: dict[tuple[str, int, int], asyncio.Future[bool]] = {}
        self._beat: asyncio.Future[dict[str, Any]] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def open(cls, api: Api, seat: GatewaySeat, wake: Callable[[], None], told: Callable[[Beat], None]) -> Self:
        """Connect, and be the registration's connection from now on."""
        wire = cls(await api.connect("/runner/connect", PING_SECONDS), api, seat, told)
        try:
            await wire._enter()
        except (aiohttp.ClientError, ConnectionError, KeyError, TypeError, ValueError) as error:
            wire.close()
            raise api.unreachable(error) from error
        except BaseException:
            wire.close()
            raise
        seat.attach(wire, wake)
        wire._tasks = [asyncio.create_task(wire._send()), asyncio.create_task(wire._receive())]
        return wire

    async def heartbeat(self) -> Beat:
        """Keep the lease, and confirm the runs."""
        named = self._seat.runs
        self._beat = asyncio.get_running_loop().create_future()
        self._unsent.put_nowait(as_json({"type": "heartbeat", "runs": sorted(named)}))
        return self._seat.beaten(await self._beat, named)

    def post(self, report: Report) -> "asyncio.Future[bool]":
        """Say it."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if self.closed:
            answer.set_exception(GatewayError(f"{self._api.place} has closed the connection"))
        else:
            self._answers[report.key] = answer
            self._unsent.put_nowait(report.frame())
        return answer

    def ready(self, want: int) -> None:
        """So many runs can come."""
        self._unsent.put_nowait(f'{{"type":"ready","want":{want}}}')

    def close(self) -> None:
        """End it at once; whoever waits for an answer is told that there will be none."""
        if self.closed:
            return
        self._closed.set()
        self._seat.detach(self)
        for task in self._tasks:
            task.cancel()
        self._api.finish(self._socket.close())
        gone = GatewayError(f"{self._api.place} has closed the connection")
        for waiting in (*self._answers.values(), self._beat):
            if waiting is not None and not waiting.done():
                waiting.set_exception(gone)
                waiting.exception()  # nobody may be waiting any more
        self._answers.clear()

    async def _enter(self) -> None:
        """Say hello for the registration that there is. It is never made anew by this."""
        resume = {"incarnation": self._seat.id, "runs": sorted(self._seat.resumed()), "only": True}
        await self._socket.send_str(as_json({"type": "hello", **self._seat.hello, "resume": resume}))
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                message = await self._socket.receive()
        except TimeoutError:
            raise NoSocketError("nothing comes back", passing=False) from None
        if message.type is not TEXT:
            self._note_code()
            raise GatewayError(f"{self._api.place} has closed the connection ({self._socket.close_code})")
        told = json.loads(message.data)
        if told["type"] == "fenced":
            self._told(Beat("fenced", cause=told.get("cause")))
        if told["type"] != "welcome" or not told["resumed"]:
            raise GatewayError(
                f"{self._api.place} does not resume the registration: {told.get('detail', told['type'])}"
            )

    def _note_code(self) -> None:
        if self._socket.close_code == BAD_TOKEN:
            self._told(Beat("fenced", cause="Revoked"))

    async def _send(self) -> None:
        try:
            while True:
                await self._socket.send_str(await self._unsent.get())
        except (aiohttp.ClientError, ConnectionError) as error:
            log.debug("cannot send: %s", error)
            self.close()

    async def _receive(self) -> None:
        try:
            while (message := await self._socket.receive()).type is TEXT:
                self._act(json.loads(message.data))
            self._note_code()
        except (KeyError, TypeError, ValueError) as error:
            log.warning("%s says something that cannot be understood: %r", self._api.place, error)
        finally:
            self.close()

    def _act(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "run":
                self._seat.came(frame)
            case "accepted" | "refused" as answer:
                self._answer(frame, answer == "accepted")
            case "beat" if self._beat is not None and not self._beat.done():
                self._beat.set_result(frame)
            case "cancel":
                self._seat.cancel(frozenset({JobId(frame["id"])}))
            case "lapsed":
                self._seat.lapsed()
            case "drain":
                self._seat.draining = True
                self._told(Beat("draining", leave=bool(frame.get("leave"))))
            case "fenced":
                self._told(Beat("fenced", cause=frame.get("cause")))
            case "reconnect":
                log.info("%s closes: connecting again", self._api.place)
                self.close()
            case "problem":
                log.error("%s does not take what was said: %s", self._api.place, frame.get("detail"))
                if "about" in frame:
                    self._answer(frame, False)

    def _answer(self, frame: dict[str, Any], counts: bool) -> None:
        waiting = self._answers.pop((frame["about"], frame["id"], frame["fence"]), None)
        if waiting is not None and not waiting.done():
            waiting.set_result(counts)
