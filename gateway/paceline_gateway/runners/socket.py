"""Runners by WebSocket: runs are pushed to them, and a socket that drops may be resumed on any gateway."""

import asyncio
import contextlib
from typing import Final

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from paceline.errors import PacelineError
from paceline_gateway.door import address, bearer
from paceline_gateway.headers import header
from paceline_gateway.identity import Identity, TokenKind
from paceline_gateway.problem import Problem
from paceline_gateway.runners.session import LATER, UNAUTHORIZED, Session
from paceline_gateway.services import Services, services_of

PROTOCOL: Final = "paceline.v1"
CLOSE_SECONDS: Final = 5
"""For a close to be taken: one who does not read would hold us for ever."""
router = APIRouter()


@router.websocket("/runner/connect")
async def connect(socket: WebSocket) -> None:
    """Serve one runner for as long as its socket lives."""
    services = services_of(socket)
    await socket.accept(PROTOCOL if PROTOCOL in socket.scope.get("subprotocols", ()) else None)
    with contextlib.suppress(WebSocketDisconnect):
        code = await _serve(services, socket)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await socket.close(code)


async def _serve(services: Services, socket: WebSocket) -> int:
    """The code of its end."""
    try:
        caller = await _identify(services, socket)
    except Problem as problem:  # before the handshake it could only be an HTTP status, which browsers hide
        return UNAUTHORIZED if problem.status in (401, 403) else LATER
    except PacelineError:
        return LATER
    session = Session(services, socket, caller)
    with services.metrics.sockets.track_inprogress():
        try:
            return await session.serve()
        finally:
            await session.end()


async def _identify(services: Services, socket: WebSocket) -> Identity:
    caller = await services.gate.identify(bearer(header(socket.scope, b"authorization")), address(socket.scope))
    if caller.kind is not TokenKind.RUNNER:
        raise Problem(403, "not_allowed", "this is for tokens that begin with rk_")
    return caller
