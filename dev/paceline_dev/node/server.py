"""The kubelet's port: logs and forwarded ports through the API server, and one clear line for what is not there.

Only the API server may ask. Its client certificate must be signed by the cluster's authority and carry the name that
the API server has towards kubelets; others of the same authority are turned away.
"""

import asyncio
import datetime
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from aiohttp import web
from aiohttp.typedefs import Handler

from paceline_dev.node.forward import forward
from paceline_dev.node.logs import Line, Query, parse, select
from paceline_dev.node.wire import now
from paceline_dev.pki import Authority

CLIENT = "kube-apiserver-kubelet-client"
LOOK_SECONDS = 0.1
"""How often a followed log is looked at; nobody follows most of them."""
CLOSED = "the local node has no exec, attach or port-forward by SPDY: use logs, or a cluster with containers\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """A refusal by its code."""

    code: int
    words: str


class Source(Protocol):
    """Who knows where logs are."""

    def log(self, namespace: str, pod: str, container: str, *, previous: bool) -> "Path | Answer":
        """The file, or why there is none."""

    def writes(self, namespace: str, pod: str, container: str, path: Path) -> bool:
        """Whether something may still be added to the file."""

    def address(self, namespace: str, pod: str) -> str | None:
        """Where the ports of a pod are; None if it does not live here."""


class KubeletServer:
    """HTTPS on the node's own address."""

    def __init__(self, source: Source, address: str, folder: Path, authority: str) -> None:
        """Serve `source` to who has a certificate of that authority (PEM)."""
        self._source = source
        self._address = address
        self._context = _context(address, folder, authority)
        self._runner: web.AppRunner | None = None

    async def start(self, port: int) -> int:
        """Listen; the port that it has become: another one if somebody has that."""
        app = web.Application(middlewares=[_only_the_api_server])
        app.router.add_get("/healthz", _healthz)
        app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._logs)
        app.router.add_get("/portForward/{namespace}/{pod}", self._forward)
        for word in ("exec", "attach", "portForward", "run"):
            app.router.add_route("*", f"/{word}/{{rest:.*}}", _closed)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        for wanted in (port, 0):
            try:
                site = web.TCPSite(self._runner, self._address, wanted, ssl_context=self._context)
                await site.start()
            except OSError:
                if wanted == 0:
                    raise
            else:
                break
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Stop listening and end all answers."""
        if not self._runner:
            return
        for site in list(self._runner.sites):
            await site.stop()
        for connection in self._runner.server.connections if self._runner.server else ():
            if connection.transport:  # closing politely would wait for the API server, which keeps connections
                connection.transport.abort()
        await self._runner.cleanup()

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        where = (request.match_info["namespace"], request.match_info["pod"], request.match_info["container"])
        try:
            query = parse_query(request.query, now())
        except ValueError:
            return web.Response(status=400, text='{"message": "Unable to decode query."}')
        path = self._source.log(*where, previous=query.previous)
        if isinstance(path, Answer):
            return web.Response(status=path.code, text=path.words)
        answer = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await answer.prepare(request)
        with path.open("rb") as file:
            lines = [parse(line) for line in file.read().splitlines(keepends=True)]
            data = b"".join(line.shown(timestamps=query.timestamps) for line in select(iter(lines), query))
            await answer.write(data[: query.limit])
            if query.follow and query.limit is None:
                await self._follow(answer, where, Growing(path, file), query)
        await answer.write_eof()
        return answer

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        namespace, pod = request.match_info["namespace"], request.match_info["pod"]
        address = self._source.address(namespace, pod)
        if address is None:
            return web.Response(status=404, text=f"pod {namespace}/{pod} does not live here\n")
        return await forward(request, address)

    async def _follow(
        self, answer: web.StreamResponse, where: tuple[str, str, str], log: "Growing", query: Query
    ) -> None:
        """Send what is added, until the container has ended or the reader has gone (then the write fails)."""
        going = True
        while going:
            going = self._source.writes(*where, log.path)
            for line in log.added():
                await answer.write(line.shown(timestamps=query.timestamps))
            if going:
                await asyncio.sleep(LOOK_SECONDS)


class Growing:
    """A log that somebody writes into. It stays open: a pod's last words can be read when its folder is gone."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        """Go on where the file stands."""
        self.path = path
        self._file = file
        self._rest = b""

    def added(self) -> list[Line]:
        """The whole lines that have come; when the file was begun anew, the rest of the old one too."""
        data = self._rest + self._file.read()
        if self._begun_anew():
            with self.path.open("rb") as fresh:
                os.dup2(fresh.fileno(), self._file.fileno())
            self._file.seek(0)
            data += self._file.read()
        *lines, self._rest = data.split(b"\n")
        return [parse(line) for line in lines]

    def _begun_anew(self) -> bool:
        try:
            return self.path.stat().st_ino != os.fstat(self._file.fileno()).st_ino
        except OSError:
            return False


def parse_query(query: Mapping[str, str], now: datetime.datetime) -> Query:
    """The options of `kubectl logs`, as the API server passes them on."""
    since = None
    if "sinceSeconds" in query:
        since = now - datetime.timedelta(seconds=int(query["sinceSeconds"]))
    elif "sinceTime" in query:
        since = datetime.datetime.fromisoformat(query["sinceTime"])
    return Query(
        follow=query.get("follow") == "true",
        previous=query.get("previous") == "true",
        timestamps=query.get("timestamps") == "true",
        tail=int(query["tailLines"]) if "tailLines" in query else None,
        since=since,
        limit=int(query["limitBytes"]) if "limitBytes" in query else None,
    )


@web.middleware
async def _only_the_api_server(request: web.Request, handler: Handler) -> web.StreamResponse:
    subject = (request.get_extra_info("peercert") or {}).get("subject", ())
    names = [value for part in subject for key, value in part if key == "commonName"]
    if names != [CLIENT]:
        return web.Response(status=403, text=f"only the API server may ask a node, and it is {CLIENT}\n")
    return await handler(request)


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text="ok")


async def _closed(_: web.Request) -> web.Response:
    return web.Response(status=501, text=CLOSED)


def _context(address: str, folder: Path, authority: str) -> ssl.SSLContext:
    """A certificate made for this start: the API server does not verify kubelets unless it is told to."""
    pair = Authority(folder, "kubelet-ca").issue("kubelet", addresses=[address])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(pair.certificate, pair.key)
    return context
