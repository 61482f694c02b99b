"""Probes and metrics: whether the process runs, and whether it can do anything for a caller. They need no token."""

import asyncio
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from paceline.errors import PacelineError
from paceline_gateway.metrics import KIND, Metrics
from paceline_gateway.services import Services

PATIENCE_SECONDS: Final = 2.0
TEXT: Final[dict[str, Any]] = {"text/plain": {"schema": {"type": "string"}, "example": "ok\n"}}
router = APIRouter(tags=["health"])


@router.get("/health/live", response_class=PlainTextResponse)
async def live() -> str:
    """Whether the process answers."""
    return "ok\n"


@router.get(
    "/health/ready", response_class=PlainTextResponse, responses={503: {"description": "Not now.", "content": TEXT}}
)
async def ready(request: Request) -> PlainTextResponse:
    """Whether the database answers, and the gateway is not about to leave."""
    services: Services | None = request.app.state.services
    if services is None:
        return PlainTextResponse("starting\n", 503)
    if services.closing.is_set():
        return PlainTextResponse("draining\n", 503)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await services.database.value("SELECT 1")
    except (PacelineError, TimeoutError):
        return PlainTextResponse("unreachable\n", 503)
    return PlainTextResponse("ok\n")


@router.get(
    "/metrics", response_class=Response, responses={200: {"description": "As Prometheus reads it.", "content": TEXT}}
)
async def metrics(request: Request) -> Response:
    """What the gateway counts."""
    counted: Metrics = request.app.state.metrics
    return Response(counted.text(), media_type=KIND)
