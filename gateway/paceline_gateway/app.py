"""The application: its routes, what stands before them, and what they share while it runs."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Final

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from paceline_gateway import call, cluster, cron, database, dead, docs, groups, health, jobs, pools, problem, tokens
from paceline_gateway.dashboard.routes import ROUTERS
from paceline_gateway.door import Door
from paceline_gateway.headers import SafeHeaders
from paceline_gateway.limits import Bodies, Limits
from paceline_gateway.metrics import Counting, Metrics
from paceline_gateway.runners import poll, socket
from paceline_gateway.services import opened
from paceline_gateway.settings import Settings
from paceline_gateway.straight import Shortcut

PAUSE_SECONDS: Final = 1.0
log = logging.getLogger("paceline.gateway")


class Gateway(FastAPI):
    """FastAPI behind what every request must pass."""

    def build_middleware_stack(self) -> ASGIApp:
        """From the last that a request meets to the first."""
        settings: Settings = self.state.settings
        app: ASGIApp = Shortcut(super().build_middleware_stack(), [*self.routes, *poll.router.routes])
        app = Bodies(app, settings)
        app = Door(app)
        app = Limits(app, settings)
        if settings.origins:
            app = CORSMiddleware(
                app, allow_origins=settings.origins, allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
                allow_headers=["Authorization", "Content-Type", "Idempotency-Key"], expose_headers=["Retry-After"],
                max_age=600,
            )  # fmt: skip
        app = SafeHeaders(app, tls=settings.tls_certificate is not None)
        return Counting(app, self.state.metrics)


def create_app(settings: Settings) -> FastAPI:
    """A gateway that connects to its database when it starts, however long that takes: it is unready until then."""
    metrics = Metrics()

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        tried = asyncio.Event()
        keeping = asyncio.create_task(_keep_open(app, settings, metrics, tried))
        await tried.wait()
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    app = Gateway(
        title="Paceline gateway",
        summary="Jobs for producers, answers for callers, work for runners that dial out.",
        version=version("paceline"),
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # it would look for a collector at each request
    )
    app.state.settings = settings
    app.state.metrics = metrics
    app.state.services = None
    problem.install(app)
    docs.install(app)
    jobs.install(app)
    # most used first: each costs 15 us
    for part in (jobs, poll, call, socket, dead, cron, pools, tokens, cluster, groups, database, health, docs):
        app.include_router(part.router)
    for router in ROUTERS:
        app.include_router(router)
    return app


async def _keep_open(app: FastAPI, settings: Settings, metrics: Metrics, tried: asyncio.Event) -> None:
    """Connect, again and again if need be; stay until we are cancelled."""
    told = ""
    while True:
        try:
            async with opened(settings, metrics) as services:
                app.state.services = services
                tried.set()
                await asyncio.get_running_loop().create_future()
        except Exception as error:  # whatever it is, it is said and tried again
            if str(error) != told:
                log.warning("waiting for the database: %s", error)
                told = str(error)
        finally:
            tried.set()
        await asyncio.sleep(PAUSE_SECONDS)
