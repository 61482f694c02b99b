"""kopf, which only watches and wakes. No handler here does any I/O, and none keeps state in objects."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

import kopf
from pydantic import ValidationError

from paceline_operator.adapters.access import Access
from paceline_operator.adapters.login import login
from paceline_operator.api.core import Node
from paceline_operator.api.v1alpha1 import GROUP, RUNNER_GROUPS, RUNNERS, VERSION
from paceline_operator.domain.names import LABEL_GROUP
from paceline_operator.domain.seen import NodeSeen, read_node
from paceline_operator.handlers.loops import Loops

log = logging.getLogger("paceline.operator")
FINALIZER: Final = f"{GROUP}/kopf"
"""Not ours: kopf takes away a finalizer of this name wherever it sees one that it has no handler for."""


def registry_for(
    access: Access, loops: Loops, nodes: dict[str, NodeSeen], *, watch_nodes: bool
) -> kopf.OperatorRegistry:
    """What wakes whom, for a kopf in another thread: all that is ours is touched in the loop of whoever calls this."""
    registry = kopf.OperatorRegistry()
    main = asyncio.get_running_loop()
    tell: Callable[..., object] = main.call_soon_threadsafe

    @kopf.on.login(registry=registry)
    async def _(**_kwargs: Any) -> kopf.ConnectionInfo:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(login(access), main))

    @kopf.on.event(GROUP, VERSION, RUNNER_GROUPS.plural, registry=registry)
    async def group_changed(meta: kopf.Meta, **_: Any) -> None:
        """A RunnerGroup is there, has changed, or is gone."""
        tell(loops.group_seen, (meta["namespace"], meta["name"]))

    @kopf.on.event(GROUP, VERSION, RUNNERS.plural, registry=registry)
    async def runner_changed(meta: kopf.Meta, spec: kopf.Spec, **_: Any) -> None:
        """A Runner changed: its group has something to look at."""
        tell(loops.wake, (meta["namespace"], str((spec.get("groupRef") or {}).get("name"))))

    @kopf.on.event("v1", "pods", registry=registry)
    async def pod_changed(meta: kopf.Meta, **_: Any) -> None:
        """A pod of a group changed."""
        tell(loops.wake, (meta["namespace"], meta.labels.get(LABEL_GROUP, "")))

    if watch_nodes:

        @kopf.on.event("v1", "nodes", registry=registry)
        async def node_changed(type: str | None, body: kopf.Body, **_: Any) -> None:  # noqa: A002 -- kopf's name
            """A node was cordoned, or does not answer, or is well again."""
            tell(_note, loops, nodes, dict(body), type == "DELETED")

    return registry


def _note(loops: Loops, nodes: dict[str, NodeSeen], body: dict[str, Any], gone: bool) -> None:
    name = body["metadata"]["name"]
    before = nodes.get(name)
    if gone:
        nodes.pop(name, None)
    else:
        try:
            nodes[name] = read_node(Node.model_validate(body))
        except ValidationError:
            log.warning("node %s cannot be read", name)
    if nodes.get(name) != before:
        loops.wake_all()


def settings_for() -> kopf.OperatorSettings:
    """What kopf shall do: nothing is stored in objects, pods are filtered by the API server."""
    settings = kopf.OperatorSettings()
    settings.persistence.finalizer = FINALIZER
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=GROUP)
    settings.watching.label_selectors["v1/pods"] = LABEL_GROUP
    settings.watching.chunk_size = 500
    settings.watching.connect_timeout = 30
    settings.networking.request_timeout, settings.networking.connect_timeout = 60, 10
    settings.posting.enabled = False
    settings.scanning.disabled = True
    return settings
