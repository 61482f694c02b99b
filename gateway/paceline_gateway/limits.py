"""How much of the gateway one request may take: its head, its body, its time, and how many there are at once.

What comes before a request's head is complete, and after its answer, is the connection's business: see connection.py.
"""

import asyncio
import logging
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from paceline_gateway.door import is_public
from paceline_gateway.headers import header
from paceline_gateway.problem import Problem, internal
from paceline_gateway.runners.session import LATER
from paceline_gateway.settings import Settings

MOST_HEAD: Final = 32 * 2**10
"""Bytes of a request's line and headers; a token, a trace and a proxy's own are below 4 KiB."""
WAITING: Final = frozenset({"/v1/call", "/runner/runs", "/dashboard/api/stream"})
"""Where a caller may wait for others, at most as long as the route lets it."""
LONGEST_WAIT: Final = 330.0
"""A call's 300 s, and something for the answer."""
log = logging.getLogger("paceline.gateway")


class Limits:
    """Before the door: heads, time and number of requests, and the number of sockets."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """None is under way."""
        self._app, self._settings = app, settings
        self._under_way = self._sockets = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request within its limits."""
        if scope["type"] == "websocket":
            return await self._serve_socket(scope, receive, send)
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        if problem := self._too_much(scope):
            return await problem.answer()(scope, receive, send)
        answer = Answer(send)
        self._under_way += 1
        try:
            async with asyncio.timeout(self._seconds(scope)) as limit:
                await self._app(scope, receive, answer)
        except Exception as error:
            if isinstance(error, TimeoutError) and limit.expired():
                problem = Problem(503, "timeout", "this took too long, and was given up")
            else:
                log.exception("a request failed, which should not happen")
                problem = internal()
            await answer.instead(scope, receive, problem)
        finally:
            self._under_way -= 1

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sockets are counted apart: runners that stay must not leave producers without room, nor the other way."""
        if self._sockets >= self._settings.max_requests:
            await receive()
            # before the handshake it could only be an HTTP status, which browsers hide
            await send({"type": "websocket.accept", "subprotocol": next(iter(scope.get("subprotocols", ())), None)})
            return await send({"type": "websocket.close", "code": LATER})
        self._sockets += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._sockets -= 1

    def _too_much(self, scope: Scope) -> Problem | None:
        head = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        for name, value in scope["headers"]:
            head += len(name) + len(value)
        if head > MOST_HEAD:
            return Problem(431, "head_too_large", f"the headers and the path have over {MOST_HEAD} bytes")
        if self._under_way >= self._settings.max_requests and not is_public(scope["path"]):
            return Problem(503, "busy", "too many requests are under way here: try again")
        return None

    def _seconds(self, scope: Scope) -> float:
        waits = scope["path"] in WAITING or b"wait=" in scope["query_string"]
        return LONGEST_WAIT if waits else self._settings.request_seconds


class Bodies:
    """Behind the door: a body is read whole before anybody looks at it, so that none is too large or too slow."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """Stands before the app."""
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, if there is one."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        length = header(scope, b"content-length")
        if length is None and header(scope, b"transfer-encoding") is None:
            return await self._app(scope, receive, send)
        if is_public(scope["path"]) and length != "0":  # strangers come here, and they are not counted either
            return await unasked().answer()(scope, receive, send)
        try:
            body = await self._read(length or "", receive)
        except Problem as problem:
            return await problem.answer()(scope, receive, send)
        if body is None:  # nobody is there any more
            return None
        first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return first.pop() if first else await receive()

        return await self._app(scope, replay, send)

    async def _read(self, length: str, receive: Receive) -> bytes | None:
        most, seconds = self._settings.max_body, self._settings.body_seconds
        if length.isdecimal() and int(length[:20]) > most:
            raise too_large(most)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    part = message.get("body", b"")
                    parts.append(part)
                    size += len(part)
                    if size > most:
                        raise too_large(most)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Problem(408, "too_slow", f"the body was not here after {seconds:g} s") from None


def unasked() -> Problem:
    """Where no token is asked for nothing takes a body; the connection ends, so that it need not be read to be lost."""
    problem = Problem(413, "too_large", "nothing that needs no token takes a body: send none")
    problem.headers = {"Connection": "close"}
    return problem


def too_large(most: int) -> Problem:
    """Said before the body is read to its end."""
    return Problem(413, "too_large", f"the body has over {most} bytes: send less at once, or raise --max-body")


class Answer:
    """What is sent, and whether it has begun."""

    def __init__(self, send: Send) -> None:
        """Nothing yet."""
        self._send, self._begun = send, False

    async def __call__(self, message: Message) -> None:
        """Pass it on."""
        self._begun = True
        await self._send(message)

    async def instead(self, scope: Scope, receive: Receive, problem: Problem) -> None:
        """Answer with a problem; where an answer has begun, the server closes the connection."""
        if not self._begun:
            await problem.answer()(scope, receive, self._send)
