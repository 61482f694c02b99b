"""How a real operator is started and asked: the one place that knows the command line of `paceline operator`."""

import asyncio
import contextlib
import http.client
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paceline.testing.scratch import free_ports
from paceline_bench import histogram
from paceline_bench.errors import NotMeasuredError
from paceline_bench.paceline_command import PROGRAM
from paceline_bench.process import Command, Process
from paceline_bench.site import INSTALL, NAMESPACE, Site, until

TURNS: Final = "paceline_reconcile_seconds"
LEADS: Final = "paceline_operator_leads 1.0"
STOP_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator that runs."""

    process: Process
    port: int

    async def ready(self) -> None:
        """Wait until its watch has begun."""

        async def is_so() -> bool:
            self.process.require()
            return await self._get("/readyz") is not None

        await until(is_so, "the operator is ready")

    async def leads(self) -> bool:
        """Whether it is the one that acts."""
        return LEADS in (await self._get("/metrics") or "")

    async def turns(self) -> dict[float, float]:
        """Its histogram of turns."""
        text = await self._get("/metrics")
        if text is None:
            raise NotMeasuredError("the operator does not show its metrics")
        return histogram.read(text, TURNS)

    async def stop(self) -> None:
        """By SIGTERM, and wait until it is gone."""
        self.process.terminate()
        if not await asyncio.to_thread(self.process.wait, STOP_SECONDS):
            raise NotMeasuredError("the operator did not end in time")

    async def _get(self, path: str) -> str | None:
        return await asyncio.to_thread(_get, self.port, path)


def command(kubeconfig: Path, port: int) -> Command:
    """An operator that looks after the bench's namespace."""
    arguments = (
        *PROGRAM, "operator", "--namespaces", NAMESPACE, "--install", INSTALL, "--kubeconfig", str(kubeconfig),
        "--lease-namespace", NAMESPACE, "--listen", f"127.0.0.1:{port}", "--log-format", "json",
    )  # fmt: skip
    return Command(arguments)


@contextlib.asynccontextmanager
async def operator(site: Site, *, wait: bool = True) -> AsyncIterator[Operator]:
    """One that runs on a site, and is ready unless nobody wants to wait."""
    port = free_ports(1)[0]
    with Process(command(site.kubeconfig, port)) as process:
        found = Operator(process, port)
        if wait:
            await found.ready()
        yield found


def _get(port: int, path: str) -> str | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    else:
        return text if answer.status == 200 else None
    finally:
        connection.close()
