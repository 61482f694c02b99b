"""Stands between the adapter and the real API server, to watch it and to say what the server says only on a bad day."""

import asyncio
import contextlib
import json
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp import web

Turn = Callable[[web.BaseRequest], web.Response | None]
"""What happens to one request: an answer of our own, or None to ask the API server."""


@dataclass
class Between:
    """A plain HTTP server that forwards as the administrator. `turns` are used up, one by each request."""

    target: str
    session: aiohttp.ClientSession
    turns: deque[Turn] = field(default_factory=deque)
    always: Turn | None = None
    seen: list[web.BaseRequest] = field(default_factory=list)
    most_at_once: int = 0
    delay: float = 0.0
    lose_answers: int = 0
    """So many requests are carried out and never answered."""
    url: str = ""
    _now: int = 0

    def say(self, status: int, message: str = "said in between", *, after: int | None = None, reason: str = "") -> Turn:
        """An answer of our own; `after` are the seconds of Retry-After."""
        body = {"kind": "Status", "status": "Failure", "code": status, "message": message, "reason": reason}
        headers = {} if after is None else {"Retry-After": str(after)}
        return lambda _: web.json_response(body, status=status, headers=headers)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.seen.append(request)
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            await asyncio.sleep(self.delay)
            turn = self.turns.popleft() if self.turns else self.always
            return (turn(request) if turn else None) or await self._forward(request)
        finally:
            self._now -= 1

    async def _forward(self, request: web.BaseRequest) -> web.Response:
        headers = {"Content-Type": request.headers.get("Content-Type", "application/json")}
        async with self.session.request(
            request.method, f"{self.target}{request.path_qs}", data=await request.read(), headers=headers
        ) as answer:
            raw = await answer.read()
        if self.lose_answers:
            self.lose_answers -= 1
            assert request.transport is not None
            request.transport.abort()
        return web.Response(body=raw, status=answer.status, content_type=answer.content_type)


@contextlib.asynccontextmanager
async def between(plane: Path) -> AsyncIterator[Between]:
    """For as long as the block lasts."""
    context = ssl.create_default_context(cafile=plane / "pki/ca.crt")
    context.load_cert_chain(plane / "pki/admin.crt", plane / "pki/admin.key")
    target = json.loads((plane / "kubeconfig").read_text())["clusters"][0]["cluster"]["server"]
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=100)) as session:
        made = Between(target, session)
        server = web.Server(made.handle)
        runner = web.ServerRunner(server, shutdown_timeout=0.1)  # nobody waits for what is held up here any more
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield made
        finally:
            await runner.cleanup()
