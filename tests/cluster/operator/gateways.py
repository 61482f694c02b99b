"""Gateways, wherever the pods are, and runners that know nothing but their address."""

import abc
import asyncio
import os
import signal
from pathlib import Path

import httpx

from cluster.operator.laptop import started
from cluster.operator.watcher import Watcher
from support.forked import Forked


class Gateways(abc.ABC):
    """One address, whoever answers."""

    url: str

    @abc.abstractmethod
    async def restart(self) -> None:
        """As for an update: each is told to leave, and another one takes its place."""


class OneGateway(Gateways):
    """A process; it is away for a moment while it restarts."""

    def __init__(self, login_url: str, port: int, scratch: Path, **env: str) -> None:
        """It comes to the database with a gateway's login."""
        self.url = f"http://127.0.0.1:{port}"
        self._words = ["gateway", "--listen", f"127.0.0.1:{port}", "--leave", "0", "--log-format", "json"]
        self._login_url, self._log, self._env = login_url, scratch / "gateway.log", env
        self._process = self._start()

    def _start(self) -> Forked:
        env = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_")}
        with self._log.open("ab") as log, Path(os.devnull).open() as nothing:
            return Forked(
                self._words, {**env, "PACELINE_DATABASE_URL": self._login_url, **self._env}, stdin=nothing.fileno(),
                stdout=log.fileno(), stderr=log.fileno(),
            )  # fmt: skip

    async def ready(self) -> None:
        """Wait until it serves."""
        await answers(self.url)

    async def restart(self) -> None:
        await self.stop()
        self._process = self._start()
        await self.ready()

    async def stop(self) -> None:
        """Tell it to leave, and wait for it."""
        self._process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(self._process.wait, 120) == 0, self._log.read_text()


async def answers(url: str) -> None:
    """Wait until somebody at this address is ready."""
    async with httpx.AsyncClient(base_url=url, timeout=5) as client:
        while True:
            try:
                if (await client.get("/health/ready")).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.2)


def start_dialler(site: Watcher, gateway: str, token: str, name: str = "laptop") -> Forked:
    """A runner that has a gateway's address and a token, and nothing of the database; the site ends it."""
    file = site.scratch / f"{name}.token"
    file.write_text(token)
    words = ["--gateway", gateway, "--token-file", str(file)]
    return started(site, name, words, {})
