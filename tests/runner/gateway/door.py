"""A gateway in the test's own process, which can be shut and opened again at the same address."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

import uvicorn

from paceline.testing.scratch import free_ports
from paceline_gateway.app import create_app
from paceline_gateway.serve import bound, configured, leave
from paceline_gateway.settings import Settings
from runner.process import RunnerProcess

TokenOf: TypeAlias = Callable[[str], Awaitable[str]]
Resume: TypeAlias = Callable[[int], Awaitable[None]]


class Door:
    """One gateway, again and again."""

    def __init__(self, database_url: str, **options: Any) -> None:
        (self.port,) = free_ports(1)
        self.scheme = "https" if "tls_certificate" in options else "http"
        self._database_url, self._options = database_url, options
        self._app: Any = None
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    async def open(self) -> None:
        settings = Settings(database_url=self._database_url, host="127.0.0.1", port=self.port, **self._options)
        self._app = create_app(settings)
        self._server = uvicorn.Server(configured(self._app, settings))
        self._serving = asyncio.create_task(self._server.serve(bound(settings.host, settings.port)))
        while not self._server.started:
            if self._serving.done():
                self._serving.result()
            await asyncio.sleep(0.01)

    async def shut(self) -> None:
        """As it is done by a signal: whoever is connected is asked to connect again."""
        if self._server is None or self._serving is None:
            return
        await leave(self._app, self._server)
        await self._serving
        self._server = None


class Dial(Protocol):
    """Starts a runner of the pool `builds` that dials the gateway."""

    async def __call__(
        self, name: str = "r1", *words: str, url: str | None = None, wait: bool = True, **variables: str
    ) -> RunnerProcess:
        """Words and variables are those of `paceline run`; it is connected when this returns, unless `wait=False`."""
