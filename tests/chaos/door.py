"""The operators' way to the API server: an HTTP proxy that can be busy, forgetful, or say everything twice."""

import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
from aiohttp import web

from paceline_dev.control_plane import ControlPlane

CARRIED = ("Accept", "Content-Type", "User-Agent")
TOO_MANY = {
    "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests", "code": 429,
    "message": "too many requests, please try again later", "details": {"retryAfterSeconds": 1},
}  # fmt: skip
LINE = 2**22
"""Bytes of the longest watch event."""


class Door:
    """Speaks to the API server as its administrator, whoever comes."""

    def __init__(self, plane: ControlPlane) -> None:
        self.busy = False
        """Answer 429."""
        self.forgetful = False
        """Let watches ask for a version that is no longer kept."""
        self.twice = False
        """Give every watch event twice."""
        self.doubled = self.refused = self.aged = 0
        self._plane, self._pki = plane, plane.folder / "pki"
        self._watches: list[web.Request] = []
        self._session: aiohttp.ClientSession | None = None
        self.port = 0

    def cut_watches(self) -> None:
        for request in list(self._watches):
            if request.transport:
                request.transport.abort()

    def kubeconfig(self, path: Path, port: int) -> Path:
        """For somebody who comes through this door, or through something before it."""
        config = json.loads(self._plane.kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
        path.write_text(json.dumps(config))
        return path

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if self.busy:
            self.refused += 1
            return web.json_response(TOO_MANY, status=429, headers={"Retry-After": "1"})
        query, watch = dict(request.query), request.query.get("watch", "") in ("true", "1")
        if watch and self.forgetful:
            query["resourceVersion"] = "1"
            self.aged += 1
        headers = {name: request.headers[name] for name in CARRIED if name in request.headers}
        assert self._session
        try:
            async with self._session.request(
                request.method, f"{self._plane.url}{request.path}", params=query, headers=headers,
                data=await request.read() or None,
            ) as answer:  # fmt: skip
                if watch and answer.status == 200:
                    return await self._watch(request, answer)
                body = await answer.read()
                return web.Response(
                    body=body, status=answer.status, headers={"Content-Type": answer.headers.get("Content-Type", "")}
                )
        except (aiohttp.ClientError, OSError):
            if request.transport:
                request.transport.abort()
            raise

    async def _watch(self, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        given = web.StreamResponse(headers={"Content-Type": answer.headers["Content-Type"]})
        await given.prepare(request)
        self._watches.append(request)
        try:
            async for line in answer.content:
                await given.write(line)
                if self.twice:
                    self.doubled += 1
                    await given.write(line)
        finally:
            self._watches.remove(request)
        return given

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Let people in."""
        there = ssl.create_default_context(cafile=str(self._pki / "ca.crt"))
        there.load_cert_chain(self._pki / "admin.crt", self._pki / "admin.key")
        here = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        here.load_cert_chain(self._pki / "kube-apiserver.crt", self._pki / "kube-apiserver.key")
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{rest:.*}", self._serve)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=there, limit=0), read_bufsize=LINE, trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=5),
        ) as self._session:  # fmt: skip
            await runner.setup()
            try:
                await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=here).start()
                self.port = runner.addresses[0][1]
                yield
            finally:
                await runner.cleanup()
