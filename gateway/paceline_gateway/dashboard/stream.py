"""What is new, as server-sent events: how the pools stand, every two seconds, for as long as somebody looks.

A stream ends by itself after five minutes and when the gateway leaves; the browser comes back, here or elsewhere. It
ends at once when the token is not good any more.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from paceline.errors import PacelineError
from paceline_gateway.auth import Admin
from paceline_gateway.dashboard.board import BEAT_SECONDS
from paceline_gateway.door import DASHBOARD, address, credential
from paceline_gateway.identity import Identity
from paceline_gateway.problem import Problem
from paceline_gateway.services import Services, services_of

LONGEST_SECONDS: Final = 300.0
RETRY_MILLISECONDS: Final = 1000
router = APIRouter(prefix=DASHBOARD, include_in_schema=False)


@router.get("/stream")
async def stream(request: Request, caller: Admin) -> StreamingResponse:
    """Events `pools`; `away` while the database does not answer; `signed-out` at the end of the token."""
    return StreamingResponse(
        _beats(services_of(request), request, caller), media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},  # nginx would keep them back
    )  # fmt: skip


async def _beats(services: Services, request: Request, caller: Identity) -> AsyncIterator[bytes]:
    ends = time.monotonic() + LONGEST_SECONDS
    yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
    while time.monotonic() < ends and not services.leaving.is_set():
        try:
            await services.gate.identify(credential(request.scope), address(request.scope))
            cards = await services.board.cards(caller.pool)
            yield event("pools", [each.told() for each in cards])
        except Problem:
            yield event("signed-out", None)
            return
        except PacelineError:
            yield event("away", None)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BEAT_SECONDS):
                await services.leaving.wait()


def event(name: str, value: Any) -> bytes:
    """One event; JSON has no bare line break, so it is one line."""
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n".encode()
