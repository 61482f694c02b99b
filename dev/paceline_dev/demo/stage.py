"""Where the demo is played: a node, two operators, a database and a way to each of them."""

import asyncio
import contextlib
import functools
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp

from paceline.database import Database
from paceline.migrate import migrate
from paceline.reading import Reader
from paceline.seen import RunnerSeen
from paceline.testing import PostgresServer
from paceline.testing.guard import Guarded
from paceline.testing.scratch import free_ports
from paceline_dev.control_plane import NODE_KUBECONFIG, ControlPlane
from paceline_dev.demo.account import Books
from paceline_dev.demo.jobs import LEDGER
from paceline_dev.errors import DevError
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import AnswerError, Api
from paceline_dev.node.images import PATH, Image
from paceline_dev.node.node import LocalNode
from paceline_dev.node.node_object import NodeSpec
from paceline_dev.node.wire import Json

NAMESPACE: Final = "default"
GROUPS: Final = f"/apis/paceline.dev/v1alpha1/namespaces/{NAMESPACE}/runnergroups"
RUNNERS: Final = f"/apis/paceline.dev/v1alpha1/namespaces/{NAMESPACE}/runners"
ACCOUNT: Final = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
PATIENCE: Final = 45.0
"""How long a step waits for what it has announced; on an idle machine none takes more than 10 s."""
LOOK_SECONDS: Final = 0.05
PROGRAMS: Final = Path(sys.executable).parent
LEADS: Final = "paceline_operator_leads 1.0"


@dataclass(slots=True)
class Operator:
    """One of the two."""

    process: Guarded
    port: int
    killed: bool = False

    async def acts(self, web: aiohttp.ClientSession) -> bool:
        """Whether it is the one that acts, by its own metrics."""
        return LEADS in await self._get(web, "/metrics")

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
class Stage:
    """What the story is told with."""

    kubectl: Kubectl
    api: Api
    web: aiohttp.ClientSession
    node: LocalNode
    database: Database
    url: str
    books: Books
    operators: list[Operator] = field(default_factory=list)

    async def run(self, *words: str, stdin: str | None = None) -> str:
        """kubectl, without holding up the load."""
        return (await asyncio.to_thread(self.kubectl.run, *words, stdin=stdin)).stdout

    async def apply(self, manifest: Mapping[str, object]) -> None:
        """As a user would."""
        await self.run("apply", "-f", "-", stdin=json.dumps(manifest))

    async def crew(self, pool: str) -> list[RunnerSeen]:
        """Who is registered for a pool, by name."""
        found = await Reader(self.database).list_runners(pool)
        return sorted((each for each in found if each.state == "active"), key=lambda each: each.id)

    async def groups(self) -> list[Json]:
        """All RunnerGroups."""
        found: list[Json] = (await self.api.get(GROUPS))["items"]
        return found

    async def runners(self, group: str) -> set[str]:
        """The Runner objects of a group."""
        found = (await self.api.get(RUNNERS))["items"]
        return {each["metadata"]["name"] for each in found if each["spec"]["groupRef"]["name"] == group}

    async def settled(self, group: str, size: int) -> None:
        """Wait until a group has so many runners, all of them ready, and no other."""

        async def is_so() -> bool:
            status = (await self.api.get(f"{GROUPS}/{group}")).get("status") or {}
            conditions = {each["type"]: each["reason"] for each in status.get("conditions", ())}
            ready = status.get("readyReplicas") == size and conditions.get("Ready") == "AsWanted"
            return ready and len(await self.runners(group)) == size and len(await self.crew(group)) == size

        await self.until(is_so, f"{size} runners of {group} are ready")

    async def until(self, true: Callable[[], Awaitable[object]], what: str, pause: float = LOOK_SECONDS) -> None:
        """Look again and again; a step that never comes is the end of the demo."""
        end = time.monotonic() + PATIENCE
        while not await true():
            if time.monotonic() > end:
                raise DevError(f"it never came to this: {what} ({PATIENCE:.0f} s); {self._last_words()}")
            await asyncio.sleep(pause)

    def _last_words(self) -> str:
        lines = [line for each in self.operators for line in each.process.log.read_text().splitlines()[-2:]]
        return f"the operators' last words: {' / '.join(lines) or 'none'}"

    async def acting(self) -> Operator:
        """The operator that acts."""
        found: list[Operator] = []

        async def one() -> bool:
            found[:] = [each for each in self.operators if not each.killed and await each.acts(self.web)]
            return len(found) == 1

        await self.until(one, "one of the operators acts")
        return found[0]

    def kill_operator(self, operator: Operator) -> None:
        """Kill -9."""
        operator.killed = True
        os.kill(operator.process.pid, signal.SIGKILL)

    def kill_runner(self, pod: str) -> None:
        """Kill -9 of the process in a pod."""
        for pid in self.node.pids(NAMESPACE, pod):
            os.kill(pid, signal.SIGKILL)


@contextlib.asynccontextmanager
async def stage(plane: ControlPlane, postgres: PostgresServer, scratch: Path) -> AsyncIterator[Stage]:
    """Everything up and ready; nothing of it is left afterwards."""
    ledger = scratch / "ledger"
    image = Image(
        entrypoint=(str(PROGRAMS / "paceline"), "run"),
        env={"PATH": f"{PROGRAMS}:{PATH}", "PACELINE_APP": "paceline_dev.demo.jobs:jobs", LEDGER: str(ledger)},
    )
    spec = NodeSpec("demo-node", cpu="100", memory="100Gi")
    async with contextlib.AsyncExitStack() as stack:
        await migrate(postgres.url)
        database = await stack.enter_async_context(await Database.open(postgres.url))
        api = await stack.enter_async_context(await Api.connect(plane.kubeconfig))
        web = await stack.enter_async_context(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(2)))
        await asyncio.to_thread(plane.kubectl.teach)
        kubeconfig = plane.folder / NODE_KUBECONFIG
        node = await stack.enter_async_context(LocalNode(kubeconfig, spec, images={"demo": image}))
        made = Stage(plane.kubectl, api, web, node, database, postgres.url, Books(database, ledger))
        await made.until(lambda: _exists(api, ACCOUNT), "the namespace has a service account")
        for number, port in enumerate(free_ports(2)):
            made.operators.append(Operator(_operator(plane, scratch / f"operator-{number}.log", port), port))
            stack.callback(made.operators[-1].process.stop)
        for each in made.operators:
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
        PROGRAMS / "paceline", "operator", "--kubeconfig", plane.kubeconfig, "--namespaces", NAMESPACE,
        "--listen", f"127.0.0.1:{port}", "--log-format", "json",
    )  # fmt: skip
    env = {name: value for name, value in os.environ.items() if not name.startswith("PACELINE_")}
    return Guarded(list(map(str, words)), log=log, env=env, grace=1.0)
