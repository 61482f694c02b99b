"""The stage on this machine: a control plane, a node whose pods are processes, and two operators, all ours to kill."""

import asyncio
import contextlib
import functools
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

import aiohttp

from paceline.database import Database
from paceline.migrate import migrate
from paceline.testing import PostgresServer
from paceline.testing.guard import Guarded
from paceline.testing.scratch import free_ports
from paceline_dev.binaries import find_binaries
from paceline_dev.control_plane import NODE_KUBECONFIG, ControlPlane
from paceline_dev.demo.account import Books
from paceline_dev.demo.stage import OpenStage, Setting, Stage
from paceline_dev.node.api import AnswerError, Api
from paceline_dev.node.images import PATH, Image
from paceline_dev.node.node import LocalNode
from paceline_dev.node.node_object import NodeSpec
from paceline_dev.progress import Reporter

PROGRAMS: Final = Path(sys.executable).parent
LEADS: Final = "paceline_operator_leads 1.0"


@dataclass(slots=True)
class Operator:
    """One of the two."""

    process: Guarded
    port: int
    killed: bool = False

    async def does(self, web: aiohttp.ClientSession) -> str:
        """What it does, by its own metrics."""
        if self.killed:
            return "killed"
        return "acts" if LEADS in await self._get(web, "/metrics") else "stands by"

    async def ready(self, web: aiohttp.ClientSession) -> bool:
        """Whether it acts or could."""
        return bool(await self._get(web, "/readyz"))

    async def _get(self, web: aiohttp.ClientSession, path: str) -> str:
        try:
            async with web.get(f"http://127.0.0.1:{self.port}{path}") as answer:
                return await answer.text() if answer.status == 200 else ""
        except (aiohttp.ClientError, OSError):
            return ""


@dataclass(slots=True)
class LocalStage(Stage):
    """Everything is a process of this machine."""

    web: aiohttp.ClientSession
    node: LocalNode
    pair: dict[str, Operator] = field(default_factory=dict)

    namespace: ClassVar[str] = "default"
    image: ClassVar[str] = "demo"
    patience: ClassVar[float] = 45.0  # on an idle machine none takes more than 10 s

    @property
    def look_around(self) -> str:
        """With the kubeconfig of the control plane."""
        return f"{self.kubectl.program} --kubeconfig {self.kubectl.kubeconfig} get rgrp,rnr,pods"

    async def operators(self) -> Mapping[str, str]:
        """The two, in the order in which they were started."""
        return {name: await each.does(self.web) for name, each in self.pair.items()}

    async def kill_operator(self, name: str) -> None:
        """By its process id."""
        self.pair[name].killed = True
        os.kill(self.pair[name].process.pid, signal.SIGKILL)

    async def kill_runner(self, pod: str) -> None:
        """The node knows the processes of its pods."""
        for pid in self.node.pids(self.namespace, pod):
            os.kill(pid, signal.SIGKILL)

    def last_words(self) -> str:
        """From their logs."""
        logs = [each.process.log.read_text().splitlines() for each in self.pair.values()]
        return " / ".join(line for log in logs for line in log[-2:])


@contextlib.contextmanager
def _prepare(report: Reporter) -> Iterator[OpenStage]:
    """A database and a control plane."""
    binaries = find_binaries(report)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="paceline-demo-")))
        with report.task("starting PostgreSQL"):
            postgres = stack.enter_context(PostgresServer.start())
        with report.task("starting etcd, API server, controller manager and scheduler"):
            plane = stack.enter_context(ControlPlane.start(binaries))
        yield functools.partial(_open, plane, postgres.url, scratch)


@contextlib.asynccontextmanager
async def _open(plane: ControlPlane, url: str, scratch: Path) -> AsyncIterator[Stage]:
    """Everything up and ready; nothing of it is left afterwards."""
    image = Image(
        entrypoint=(str(PROGRAMS / "paceline"), "run"),
        env={"PATH": f"{PROGRAMS}:{PATH}", "PACELINE_APP": "paceline_dev.demo.image.jobs:jobs"},
    )
    spec = NodeSpec("demo-node", cpu="100", memory="100Gi")
    async with contextlib.AsyncExitStack() as stack:
        await migrate(url)
        database = await stack.enter_async_context(await Database.open(url))
        api = await stack.enter_async_context(await Api.connect(plane.kubeconfig))
        web = await stack.enter_async_context(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(2)))
        await asyncio.to_thread(plane.kubectl.teach)
        kubeconfig = plane.folder / NODE_KUBECONFIG
        node = await stack.enter_async_context(LocalNode(kubeconfig, spec, images={LocalStage.image: image}))
        made = LocalStage(plane.kubectl, api, database, url, Books(database), web, node)
        account = f"/api/v1/namespaces/{made.namespace}/serviceaccounts/default"
        await made.until(lambda: _exists(api, account), "the namespace has a service account")
        for number, port in enumerate(free_ports(2), 1):
            process = _operator(plane, scratch / f"operator-{number}.log", port)
            made.pair[f"operator {number}"] = Operator(process, port)
            stack.callback(process.stop)
        for each in made.pair.values():
            await made.until(functools.partial(each.ready, web), "both operators are ready")
        yield made


async def _exists(api: Api, path: str) -> bool:
    try:
        await api.get(path)
    except AnswerError:
        return False
    return True


def _operator(plane: ControlPlane, log: Path, port: int) -> Guarded:
    words = (
        PROGRAMS / "paceline", "operator", "--kubeconfig", plane.kubeconfig, "--namespaces", LocalStage.namespace,
        "--listen", f"127.0.0.1:{port}", "--log-format", "json",
    )  # fmt: skip
    env = {name: value for name, value in os.environ.items() if not name.startswith("PACELINE_")}
    return Guarded(list(map(str, words)), log=log, env=env, grace=1.0)


THIS_MACHINE: Final = Setting(_prepare, "everything is removed")
