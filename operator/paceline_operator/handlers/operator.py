"""The operator as a whole: opens its ways out, lets kopf watch, turns the loops, and ends in order."""

import asyncio
import contextlib
import logging
import secrets
import signal
import socket

from paceline_operator.adapters.access import find_access
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.adapters.events import Events
from paceline_operator.adapters.front_door import FrontDoor
from paceline_operator.adapters.neighbour import Neighbour
from paceline_operator.adapters.queues import Queues
from paceline_operator.adapters.retry import Retries
from paceline_operator.adapters.webhooks import FileWebhooks
from paceline_operator.domain.seen import NodeSeen
from paceline_operator.handlers.demands import Demands
from paceline_operator.handlers.elect import Elector, Terms
from paceline_operator.handlers.loops import Loops
from paceline_operator.handlers.metrics import Metrics
from paceline_operator.handlers.metrics_api import MetricsApi
from paceline_operator.handlers.orphans import Orphans
from paceline_operator.handlers.server import Server
from paceline_operator.handlers.services import Services
from paceline_operator.handlers.settings import Settings
from paceline_operator.handlers.watch import registry_for
from paceline_operator.handlers.watching import Watching
from paceline_operator.ports.resources import ResourceKind

log = logging.getLogger("paceline.operator")


def obey(stop: asyncio.Event) -> None:
    """SIGTERM and SIGINT are orders to stop."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)


async def operate(settings: Settings, stop: asyncio.Event) -> None:
    """Until told to stop: watch all the time, and act while we are the one who does."""
    obey(stop)
    metrics, loops, nodes = Metrics(), Loops(), dict[str, NodeSeen]()
    host = socket.gethostname()

    def count(verb: str, resource: ResourceKind, status: int, _seconds: float) -> None:
        metrics.requests.labels(verb, resource.plural, str(status)).inc()

    def tally(result: str) -> None:
        metrics.webhooks.labels(result).inc()

    access = find_access(settings.kubeconfig, settings.context)
    async with contextlib.AsyncExitStack() as stack:
        # its own connection, quick to give up: the next try is a second later
        plain = KubernetesCluster(access, timeout=2.0, retries=Retries(total=2.0), on_request=count)
        me = f"{host}-{secrets.token_hex(4)}"
        elector = Elector(
            await stack.enter_async_context(plain), settings.lease_namespace, f"{settings.install}-operator", me,
            settings.address,
        )  # fmt: skip
        cluster = await stack.enter_async_context(KubernetesCluster(access, gate=elector.leads, on_request=count))
        terms = Terms(settings.install, me, elector.leads)
        queues = Queues(cluster, terms.office, loops.wake)
        webhooks = None
        if settings.webhooks is not None:
            webhooks = FileWebhooks(settings.webhooks, leads=elector.leads, count=tally, wake=loops.wake)
            await stack.enter_async_context(webhooks)
        services = Services(
            install=settings.install,
            cluster=cluster,
            queues=queues,
            events=Events(cluster, host),
            metrics=metrics,
            webhooks=webhooks,
            nodes=nodes,
        )
        demands = Demands(loops.demand, elector.leads, elector.other)
        where = settings.namespaces[0] if settings.namespaces else None
        registry = registry_for(access, loops, nodes, watch_nodes=settings.watch_nodes)
        watching = Watching(registry, settings.namespaces, host, lambda kind: plain.serves(kind, where))
        server = Server(loops.stuck, lambda: watching.trouble, metrics, demands)
        await server.start(settings.host, settings.port)
        stack.push_async_callback(server.close)
        if settings.external_metrics is not None:
            neighbour = await stack.enter_async_context(Neighbour())
            api = MetricsApi(demands, neighbour.ask, FrontDoor(plain, settings.external_metrics_tls))
            await stack.enter_async_context(api.served(*settings.external_metrics))
        orphans = Orphans(services, settings.namespaces)

        async def begin() -> None:
            terms.begin()
            metrics.leads.set(1)
            loops.begin(services)
            orphans.begin(watching.on)

        async def end() -> None:
            metrics.leads.set(0)
            orphans.end()
            await loops.end()
            if webhooks is not None:
                await webhooks.end()
            metrics.forget_all()
            await elector.release()
            await queues.close()

        electing = asyncio.create_task(elector.run(begin, end))
        watch = asyncio.create_task(watching.run(stop))
        told = asyncio.create_task(stop.wait())
        await asyncio.wait({electing, watch, told}, return_when=asyncio.FIRST_COMPLETED)
        electing.cancel()
        (broken,) = await asyncio.gather(electing, return_exceptions=True)
        stop.set()
        await watch
        if isinstance(broken, Exception):
            raise broken
