"""Serves external.metrics.k8s.io, so that a HorizontalPodAutoscaler can follow a queue without KEDA."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from paceline.errors import InvalidInputError
from paceline_operator.adapters.front_door import FrontDoor
from paceline_operator.domain.metrics_api import API, describe_api, group_of, refusal, value_list
from paceline_operator.domain.scaling.told import NoDemandError
from paceline_operator.handlers.demands import AskOther, Demands
from paceline_operator.ports.errors import ClusterError

log = logging.getLogger("paceline.operator")
AGAIN: Final = 5.0
REFRESH: Final = 60.0
"""Seconds; certificates are renewed long before they end."""


class MetricsApi:
    """Answers the API server, whether this operator acts or another one does."""

    def __init__(self, demands: Demands, ask: AskOther, door: FrontDoor) -> None:
        """`ask` asks the operator that acts, while this one does not."""
        self._demands, self._ask, self._door = demands, ask, door

    @contextlib.asynccontextmanager
    async def served(self, host: str, port: int) -> AsyncIterator[None]:
        """As soon as it is known whom to let in; what keeps us from serving it keeps nobody from working."""
        app = web.Application(middlewares=[self._admit])
        app.router.add_get(f"/apis/{API}", self._describe)
        app.router.add_get(f"/apis/{API}/namespaces/{{namespace}}/{{metric}}", self._value)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        keeping = asyncio.create_task(self._keep(runner, host, port))
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await runner.cleanup()

    async def _keep(self, runner: web.AppRunner, host: str, port: int) -> None:
        while True:
            pause = REFRESH
            try:
                await self._door.refresh()
                if not runner.sites:
                    await web.TCPSite(runner, host, port, ssl_context=self._door.context).start()
            except (ClusterError, InvalidInputError, OSError, ValueError) as error:
                log.warning("external metrics: %s", error)
                pause = AGAIN
            await asyncio.sleep(pause)

    @web.middleware
    async def _admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        transport = request.transport
        if transport is None or not self._door.admits(transport.get_extra_info("peercert")):
            return _refused(403, "only the API server may ask here: ask it")
        return await handler(request)

    async def _describe(self, _: web.Request) -> web.Response:
        return web.json_response(describe_api())

    async def _value(self, request: web.Request) -> web.Response:
        try:
            group = group_of(request.match_info["metric"], request.query.get("labelSelector", ""))
            told = await self._demands.find((request.match_info["namespace"], group), self._ask)
        except InvalidInputError as error:
            return _refused(400, str(error))
        except NoDemandError as error:
            return _refused(404 if error.missing else 503, str(error))
        return web.json_response(value_list(told))


def _refused(code: int, message: str) -> web.Response:
    return web.json_response(refusal(code, message), status=code)
