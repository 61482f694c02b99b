"""Somebody who is told of alerts: a real HTTP server that writes down what comes, and answers as it is told to."""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Json = dict[str, Any]
PATIENCE = 60.0


@dataclass
class Receiver:
    """One that listens."""

    url: str = ""
    answers: deque[int] = field(default_factory=deque)
    """Statuses for the next requests; when there is none left, 200."""
    headers: dict[str, str] = field(default_factory=dict)
    """Of every answer that is not 200."""
    hold: asyncio.Event | None = None
    """Until it is set nothing is answered; None: all is."""
    posts: list[tuple[int, Json]] = field(default_factory=list)
    """What came, and how it was answered."""
    came: asyncio.Queue[Json] = field(default_factory=asyncio.Queue)
    """What came and was taken."""

    async def next(self) -> Json:
        """The next that is taken."""
        async with asyncio.timeout(PATIENCE):
            return await self.came.get()

    async def handle(self, request: web.Request) -> web.Response:
        body: Json = await request.json()
        status = self.answers.popleft() if self.answers else 200
        self.posts.append((status, {"path": request.path, **body}))
        if self.hold is not None:
            await self.hold.wait()
        if status == 200:
            self.came.put_nowait(body)
        return web.Response(status=status, headers=self.headers if status != 200 else None)


@asynccontextmanager
async def receiving(tls: ssl.SSLContext | None = None, path: str = "/hook") -> AsyncIterator[Receiver]:
    """One on a port of its own, at a path that only those know who have the URL."""
    made = Receiver()
    app = web.Application()
    app.router.add_post("/{path:.*}", made.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        port = runner.addresses[0][1]
        made.url = f"{'https' if tls else 'http'}://localhost:{port}{path}"
        yield made
    finally:
        await runner.cleanup()
