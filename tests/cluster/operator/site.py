"""A namespace with a database, a node and an operator of its own: everything real but the containers."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cluster.local import where
from cluster.operator.watcher import Watcher
from cluster.place import Json
from paceline import Queue
from paceline_dev.group import runner_group
from paceline_dev.kind.install import SYSTEM
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import Api
from paceline_dev.node.images import PATH, Image
from paceline_dev.node.node import LocalNode
from support.forked import Forked

PROGRAMS = Path(sys.executable).parent


def shop(scratch: Path, **env: str) -> Image:
    """The image that the runners' pods have: the real runner with the handlers of tests/runner/apps."""
    tests = Path(__file__).resolve().parents[2]
    return Image(
        entrypoint=(str(PROGRAMS / "paceline"), "run"),
        env={"PATH": f"{PROGRAMS}:{PATH}", "PYTHONPATH": str(tests), "PACELINE_APP": Site.app,
             "SCRATCH": str(scratch), **env},
    )  # fmt: skip


@dataclass
class Site(Watcher):
    """What a story of the operator is told with."""

    api: Api
    kubectl: Kubectl
    kubeconfig: Path
    namespace: str
    node: LocalNode
    queue: Queue
    url: str
    scratch: Path
    processes: list[Forked] = field(default_factory=list)
    port: int = 0
    second_port: int = 0
    """For a second operator."""
    laptops: list[Forked] = field(default_factory=list)

    app = "runner.apps.shop:jobs"

    @property
    def install(self) -> str:
        return self.namespace

    @property
    def operator_namespace(self) -> str:
        return self.namespace

    # the operator

    def start_operator(self, port: int = 0, **env: str) -> Forked:
        """Start one that looks after this namespace only."""
        words = self.operator_words(port or self.port)
        path = self.scratch / f"operator-{len(self.processes)}.log"
        with path.open("wb") as log, Path(os.devnull).open() as nothing:
            process = Forked(
                words, {**os.environ, **env}, stdin=nothing.fileno(), stdout=log.fileno(), stderr=log.fileno()
            )
        self.processes.append(process)
        return process

    def operator_words(self, port: int) -> list[str]:
        """What comes after `paceline`."""
        return [
            "operator", "--namespaces", self.namespace, "--install", self.install,
            "--lease-namespace", self.namespace,
            "--kubeconfig", str(self.kubeconfig), "--listen", f"127.0.0.1:{port}", "--log-format", "json",
        ]  # fmt: skip

    async def stop_operator(self, number: int = signal.SIGTERM, which: int = -1) -> int:
        """End the last one that was started, or another."""
        process = self.processes[which]
        process.send_signal(number)
        return await asyncio.to_thread(process.wait, 60)

    @asynccontextmanager
    async def without_operator(self) -> AsyncIterator[None]:
        await self.stop_operator()
        yield
        self.start_operator()

    def log(self) -> str:
        """What operators have said."""
        return "".join(path.read_text() for path in sorted(self.scratch.glob("operator-*.log")))

    def log_of(self, number: int) -> str:
        """What the nth operator has said."""
        return (self.scratch / f"operator-{number}.log").read_text()

    async def get(self, path: str, port: int = 0) -> tuple[int, str]:
        """Ask the operator's own port."""
        import aiohttp

        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port or self.port}{path}") as answer,
        ):
            return answer.status, await answer.text()

    async def counts(self, *lines: str) -> None:
        """Wait until its metrics have all of these: it counts after it has acted and written."""

        async def are_there() -> bool:
            text = (await self.get("/metrics"))[1]
            return all(line in text for line in lines)

        await self.until(are_there, f"the metrics have {', '.join(lines)}")

    # objects

    def group(self, replicas: int = 1, name: str = "builds", image: str = "shop", **spec: object) -> Json:
        """A RunnerGroup whose pods come to our node."""
        return runner_group(self.namespace, name, replicas, image, spec, pod=where(self.node.name))

    def marked(self, name: str) -> list[str]:
        """What handlers left in a file."""
        path = self.scratch / name
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def touch(self, name: str) -> None:
        (self.scratch / name).touch()

    async def allow(self, name: str) -> None:
        self.touch(name)


class Everywhere(Site):
    """With an operator for all namespaces."""

    @property
    def operator_namespace(self) -> str:
        return SYSTEM

    def operator_words(self, port: int) -> list[str]:
        return [
            "operator", "--install", self.install, "--lease-namespace", SYSTEM, "--kubeconfig", str(self.kubeconfig),
            "--listen", f"127.0.0.1:{port}", "--log-format", "json",
        ]  # fmt: skip


def ended(processes: Iterable[Forked]) -> None:
    """End what a test has left running."""
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait(60)


def seconds_since(began: float) -> float:
    """For assertions on how long something took."""
    return time.monotonic() - began
