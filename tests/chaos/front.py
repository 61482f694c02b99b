"""One address for the gateways, as a Service is: new connections go to one that was ready when it was last asked."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlsplit

import aiohttp

from support.listening import listening
from support.proxy import Proxy

PROBE_SECONDS = 1.0


class Front(Proxy):
    """A TCP proxy with several targets."""

    def __init__(self, urls: Sequence[str]) -> None:
        super().__init__(urls[0])
        self._urls, self._healthy = list(urls), set(urls)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        chosen = urlsplit(random.choice(sorted(self._healthy) or self._urls))  # noqa: S311 -- no secret
        assert chosen.hostname is not None
        assert chosen.port is not None
        self._target = (chosen.hostname, chosen.port)
        await super()._serve(reader, writer)

    async def probe(self) -> None:
        """Until it is cancelled: who is ready, as readiness probes find out."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PROBE_SECONDS)) as web:
            while True:
                for url in self._urls:
                    if await _ready(web, url):
                        self._healthy.add(url)
                    else:
                        self._healthy.discard(url)
                await asyncio.sleep(PROBE_SECONDS)


async def _ready(web: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with web.get(f"{url}/health/ready") as answer:
            return answer.status == 200
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False


@contextlib.asynccontextmanager
async def front(urls: Sequence[str]) -> AsyncIterator[Front]:
    """For as long as the block lasts."""
    made = Front(urls)
    async with listening(made._serve) as made._port:
        probing = asyncio.create_task(made.probe())
        try:
            yield made
        finally:
            probing.cancel()
