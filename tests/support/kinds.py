"""An API server that has as many of our kinds as a test wants, and no other objects than one group."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

OURS = "/apis/paceline.dev/v1alpha1"
KINDS = {"runnergroups": "RunnerGroup", "runners": "Runner", "namespaces": "Namespace", "nodes": "Node", "pods": "Pod"}
WIDE = ("namespaces", "nodes")
BOTH = frozenset({"runnergroups", "runners"})
GROUP = {"metadata": {"name": "builds", "namespace": "ci", "uid": "1", "resourceVersion": "1"}}


@dataclass
class Kinds:
    """Serves `served`; what it says of itself may differ, for as many looks as `said` has entries."""

    served: frozenset[str] = BOTH
    said: list[frozenset[str]] = field(default_factory=list)
    refuses: str = ""
    refused: int = 0
    """How often somebody asked for a kind that is not there."""
    looks: int = 0
    """How often somebody asked which kinds there are."""
    watched: set[str] = field(default_factory=set)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    url: str = ""
    closed: bool = False

    async def serve(self, *plurals: str) -> None:
        """Have these from now on; the watches of others end."""
        async with self.changed:
            self.served = frozenset(plurals)
            self.changed.notify_all()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path.rstrip("/")
        plural = path.rpartition("/")[2]
        if path == "/api":
            return web.json_response({"versions": ["v1"]})
        if path == "/apis":
            preferred = {"version": "v1alpha1"}
            return web.json_response(
                {"groups": [{"name": "paceline.dev", "versions": [preferred], "preferredVersion": preferred}]}
            )
        if path == "/api/v1":
            return _resources(["namespaces", "nodes", "pods"])
        if path == OURS:
            self.looks += 1
            return _resources(sorted(self.said.pop(0) if self.said else self.served))
        if plural == self.refuses:
            return web.json_response({"code": 405, "message": "no"}, status=405)  # kopf tries again after a 403
        if not self._has(plural):
            self.refused += 1
            return web.json_response({"code": 404, "message": "not found"}, status=404)
        if "watch" in request.query:
            return await self._watch(request, plural)
        items = [GROUP] if plural == "runnergroups" else []
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})

    def _has(self, plural: str) -> bool:
        return plural in self.served or plural in ("pods", "nodes")

    async def _watch(self, request: web.BaseRequest, plural: str) -> web.StreamResponse:
        """Until the kind is gone."""
        stream = web.StreamResponse()
        await stream.prepare(request)
        async with self.changed:
            self.watched.add(plural)
            self.changed.notify_all()
            await self.changed.wait_for(lambda: self.closed or not self._has(plural))
            self.watched.discard(plural)
        return stream

    def kubeconfig(self, folder: Path) -> Path:
        """The way to it."""
        config = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": self.url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        }
        (folder / "config").write_text(json.dumps(config))
        return folder / "config"


def _resources(plurals: list[str]) -> web.Response:
    verbs = ["get", "list", "watch", "patch"]
    return web.json_response(
        {"resources": [{"name": each, "singularName": "", "kind": KINDS[each], "namespaced": each not in WIDE,
                        "verbs": verbs} for each in plurals]}
    )  # fmt: skip


@contextlib.asynccontextmanager
async def kinds() -> AsyncIterator[Kinds]:
    """For as long as the block lasts."""
    made = Kinds()
    runner = web.ServerRunner(web.Server(made.answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield made
    finally:
        async with made.changed:
            made.closed = True
            made.changed.notify_all()
        await runner.cleanup()
