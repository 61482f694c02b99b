"""The operator's port: is it alive, can it work, what has it counted."""

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from paceline_operator.handlers.metrics import Metrics


class Server:
    """Answers /healthz, /readyz and /metrics."""

    def __init__(self, stuck: Callable[[], list[str]], ready: Callable[[], bool], metrics: Metrics) -> None:
        """`stuck`: the groups whose loop does not turn; `ready`: whether the watch has begun."""
        self._stuck, self._ready, self._metrics = stuck, ready, metrics
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._show)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()

    async def close(self) -> None:
        """Stop."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        if stuck := self._stuck():
            return web.Response(
                status=503, text=f"these groups have not been looked at for a minute: {', '.join(stuck)}\n"
            )
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        if not self._ready():
            return web.Response(status=503, text="the watch has not begun\n")
        return web.Response(text="ok\n")

    async def _show(self, _: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
