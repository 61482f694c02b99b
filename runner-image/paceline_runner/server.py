"""The port: probes, metrics, and the order to drain. Runs in the keeper's thread, so that no handler holds it up."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime

from aiohttp import web

from paceline_runner.metrics import Metrics
from paceline_runner.status import Status

log = logging.getLogger("paceline.runner")


class Server:
    """Serves one runner."""

    def __init__(
        self, status: Status, metrics: Metrics, drain: Callable[[], None], last_beat: Callable[[], float | None]
    ) -> None:
        """`drain` may be called from any thread."""
        self._status, self._metrics, self._drain, self._last_beat = status, metrics, drain, last_beat

    async def start(self, host: str, port: int) -> None:
        """Listen, or say why not: a runner without its port still works, and its probes will tell."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/health/live", self._live),
                web.get("/health/ready", self._ready),
                web.get("/metrics", self._show_metrics),
                web.post("/drain", self._drain_here),
                web.get("/cluster/nodes", self._nodes),
                web.post("/cluster/nodes/{name}/drain", self._drain_node),
            ]
        )
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            log.error(  # noqa: TRY400 -- a traceback would not help
                "cannot listen on %s:%d: %s (choose another with --listen)", host, port, error.strerror or error
            )
            return
        bound = runner.addresses[0][1] if runner.addresses else port
        log.info("listening on %s:%d", host, bound)

    async def _live(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _ready(self, _: web.Request) -> web.Response:
        if self._status.state == "active":
            return web.Response(text="ok\n")
        return web.Response(status=503, text=f"{self._status.state}\n")

    async def _show_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _drain_here(self, request: web.Request) -> web.Response:
        """With `?wait=true` the answer comes when nothing runs any more."""
        self._drain()
        if request.query.get("wait") in ("1", "true"):
            await self._status.until_idle()
        return web.json_response({"state": "draining", "running": self._status.holding()})

    async def _nodes(self, _: web.Request) -> web.Response:
        return web.json_response([self._node()])

    def _node(self) -> dict[str, object]:
        beat = self._last_beat()
        return {
            "id": self._status.name,
            "hostname": self._status.hostname,
            "started_at": self._status.started_at.isoformat(),
            "last_heartbeat": None if beat is None else datetime.fromtimestamp(beat, UTC).isoformat(),
            "state": self._status.state,
            "instances_claimed": self._status.holding(),
        }

    async def _drain_node(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name != self._status.name:
            text = f'this is runner "{self._status.name}": ask "{name}" itself, or the gateway\n'
            return web.Response(status=404, text=text)
        self._drain()
        return web.Response()
