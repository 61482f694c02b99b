"""The operator's port: is it alive, can it work, what has it counted, and what do the queues want."""

from collections.abc import Callable
from typing import Final

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from paceline_operator.domain.scaling.told import WIRE, NoDemandError
from paceline_operator.handlers.demands import Demands
from paceline_operator.handlers.metrics import Metrics

DEMAND: Final = "/demand/{namespace}/{group}"


class Server:
    """Answers /healthz, /readyz, /metrics and /demand."""

    def __init__(
        self, stuck: Callable[[], list[str]], trouble: Callable[[], str], metrics: Metrics, demands: Demands
    ) -> None:
        """`stuck`: the groups whose loop does not turn; `trouble`: why nothing is watched, empty if it is."""
        self._stuck, self._trouble, self._metrics, self._demands = stuck, trouble, metrics, demands
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._show)
        app.router.add_get(DEMAND, self._demand)
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
        if trouble := self._trouble():
            return web.Response(status=503, text=f"nothing is watched: {trouble}\n")
        return web.Response(text="ok\n")

    async def _show(self, _: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _demand(self, request: web.Request) -> web.Response:
        """Only the one that acts knows: another one says where that is, so that a Service before both works."""
        try:
            if other := self._demands.other:
                return web.Response(status=307, headers={"Location": f"http://{other}{request.rel_url.raw_path}"})
            told = self._demands.own((request.match_info["namespace"], request.match_info["group"]))
        except NoDemandError as error:
            return web.json_response({"error": str(error)}, status=404 if error.missing else 503)
        return web.Response(body=WIRE.dump_json(told), content_type="application/json")
