"""The operator as a whole: opens its ways out, lets kopf watch, turns the loops, and ends in order."""

import asyncio
import contextlib
import logging
import socket
from typing import Any

import kopf

from paceline_operator.adapters.access import find_access
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.adapters.events import Events
from paceline_operator.adapters.login import login
from paceline_operator.adapters.queues import Queues
from paceline_operator.domain.seen import NodeSeen
from paceline_operator.handlers.loops import Loops
from paceline_operator.handlers.metrics import Metrics
from paceline_operator.handlers.orphans import Orphans
from paceline_operator.handlers.server import Server
from paceline_operator.handlers.services import Services
from paceline_operator.handlers.settings import Settings
from paceline_operator.handlers.watch import registry_for, settings_for
from paceline_operator.ports.resources import ResourceKind

log = logging.getLogger("paceline.operator")


async def operate(settings: Settings, stop: asyncio.Event) -> None:
    """Until told to stop."""
    metrics, loops, nodes = Metrics(), Loops(), dict[str, NodeSeen]()
    watching = asyncio.Event()
    host: Any = socket.gethostname()

    def count(verb: str, resource: ResourceKind, status: int, _seconds: float) -> None:
        metrics.requests.labels(verb, resource.plural, str(status)).inc()

    access = find_access(settings.kubeconfig, settings.context)
    async with contextlib.AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(KubernetesCluster(access, on_request=count))
        queues = Queues(cluster, settings.install, loops.wake)
        stack.push_async_callback(queues.close)
        services = Services(
            install=settings.install,
            cluster=cluster,
            queues=queues,
            events=Events(cluster, host),
            metrics=metrics,
            nodes=nodes,
        )
        loops.begin(services)
        stack.push_async_callback(loops.close)
        server = Server(loops.stuck, watching.is_set, metrics)
        await server.start(settings.host, settings.port)
        stack.push_async_callback(server.close)
        orphans = asyncio.create_task(Orphans(services, settings.namespaces).run(watching))
        stack.callback(orphans.cancel)
        registry = registry_for(loops, nodes, watch_nodes=settings.watch_nodes)

        @kopf.on.login(registry=registry)
        async def _(**_kwargs: Any) -> kopf.ConnectionInfo:
            return await login(access)

        log.info("operating %s", ", ".join(settings.namespaces) or "all namespaces")
        await kopf.operator(
            registry=registry,
            settings=settings_for(namespaced=bool(settings.namespaces)),
            standalone=True,
            identity=host,  # else kopf asks for the name of the user, and in a container there is only a number
            clusterwide=not settings.namespaces,
            namespaces=settings.namespaces,
            stop_flag=stop,
            ready_flag=watching,
        )
