"""The operator as a whole: opens its ways out, lets kopf watch, turns the loops, and ends in order."""

import asyncio
import contextlib
import logging
import secrets
import signal
import socket
from typing import Any

import kopf

from paceline_operator.adapters.access import Access, find_access
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.adapters.events import Events
from paceline_operator.adapters.front_door import FrontDoor
from paceline_operator.adapters.login import login
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
from paceline_operator.handlers.watch import registry_for, settings_for
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
    watching = asyncio.Event()
    host: Any = socket.gethostname()  # kopf has a type of its own for it

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
        server = Server(loops.stuck, watching.is_set, metrics, demands)
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
            orphans.begin(watching)

        async def end() -> None:
            metrics.leads.set(0)
            orphans.end()
            await loops.end()
            if webhooks is not None:
                await webhooks.end()
            metrics.forget_all()
            await elector.release()
            await queues.close()

        log.info("watching %s", ", ".join(settings.namespaces) or "all namespaces")
        electing = asyncio.create_task(elector.run(begin, end))
        watch = asyncio.create_task(_watch(settings, loops, nodes, access, host, stop, watching))
        told = asyncio.create_task(stop.wait())
        await asyncio.wait({electing, watch, told}, return_when=asyncio.FIRST_COMPLETED)
        electing.cancel()
        (broken,) = await asyncio.gather(electing, return_exceptions=True)
        stop.set()
        await watch
        if isinstance(broken, Exception):
            raise broken


async def _watch(
    settings: Settings, loops: Loops, nodes: dict[str, NodeSeen], access: Access, host: Any, stop: asyncio.Event,
    watching: asyncio.Event,
) -> None:  # fmt: skip
    """Let kopf watch, whether we act or not: so that there is nothing to find out first when we do."""
    registry = registry_for(loops, nodes, watch_nodes=settings.watch_nodes)

    @kopf.on.login(registry=registry)
    async def _(**_kwargs: Any) -> kopf.ConnectionInfo:
        return await login(access)

    before = asyncio.all_tasks()
    tasks = await kopf.spawn_tasks(
        registry=registry,
        settings=settings_for(namespaced=bool(settings.namespaces)),
        standalone=True,
        identity=host,  # else kopf asks for the name of the user, and in a container there is only a number
        clusterwide=not settings.namespaces,
        namespaces=settings.namespaces,
        stop_flag=stop,
        ready_flag=watching,
    )
    obey(stop)  # kopf has taken the signals for itself, and waits 5 s for our loops before it ends and we hear of it
    await kopf.run_tasks(tasks, ignored=before)
