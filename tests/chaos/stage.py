"""Where it happens: a control plane, two nodes, two operators, two gateways, a primary and its standby, all ours."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from chaos.clock import Clock
from chaos.door import Door
from chaos.front import Front, front
from chaos.pair import Pair, pair
from chaos.seats import Seat
from chaos.work import EACH_MINUTE, FIXED, KEY_RATE, KIND_RATE, LED, POOL_RATE, POOLS, SHARED
from cluster.local import QUICK
from cluster.operator.watcher import Watcher
from cluster.place import Json
from history import audit
from paceline.cron import Cron, CronEntry
from paceline.database import Database
from paceline.job import NewJob
from paceline.migrate import migrate
from paceline.queue import Queue
from paceline.testing.guard import Guarded
from paceline.testing.scratch import free_ports
from paceline.tokens import Tokens
from paceline_dev.binaries import find_binaries
from paceline_dev.control_plane import NODE_KUBECONFIG, ControlPlane
from paceline_dev.group import runner_group
from paceline_dev.node.api import TROUBLE, AnswerError, Api
from paceline_dev.node.images import PATH, Image
from paceline_dev.node.node import LocalNode
from paceline_dev.node.node_object import NodeSpec
from paceline_dev.progress import stderr_reporter
from runner.gateway.strict import strict_proxy
from support.proxy import Proxy, proxy

PROGRAMS = Path(sys.executable).parent
TESTS = Path(__file__).resolve().parents[1]
LEADS = "paceline_operator_leads 1.0"
LEASE = 24.0
"""Seconds of the pods' leases: a machine on which heartbeats are late by more has no runners to break."""
NODE_GRACE = 10
WAYS = ("house", "pods", "operators", "gateways", "producers")
ROLES = {"pods": "runner", "operators": "operator", "gateways": "gateway"}
SIZES = {LED: 2, FIXED: 2}
MOST = 5
"""Runners of the group that follows its queue."""


class Stage(Watcher):
    """Everything that a fault can hit, and what is needed to see how it stands."""

    namespace = "default"
    install = "chaos"
    operator_namespace = "default"
    app = "chaos.apps.chaotic:jobs"
    patience = 120.0

    def __init__(self, plane: ControlPlane, databases: Pair, scratch: Path) -> None:
        self.plane, self.databases, self.scratch = plane, databases, scratch
        self.kubectl, self.url, self.laptops = plane.kubectl, databases.ways["house"].url, []
        self.door = Door(plane)
        self.clock = Clock(scratch)
        self.nodes: list[LocalNode] = []
        self.operators: list[Seat] = []
        self.gateways: list[Seat] = []
        self.diallers: list[Seat] = []
        self.ports: dict[str, int] = {}
        self.api_server: Guarded | None = None
        """The one that was started in the place of the first, if that was killed."""
        self.api: Api
        self.queue: Queue
        self.database: Database
        self.front: Front
        self.line: Proxy
        """Between the operators and the door."""
        self.web: aiohttp.ClientSession
        self.producer_token = self.admin_token = ""
        self.say: Callable[[str], None]

    # what is there

    @property
    def seats(self) -> list[Seat]:
        return [*self.operators, *self.gateways, *self.diallers]

    def log(self) -> str:
        return "".join(f"{seat.name}: {seat.log.read_text(errors='replace')[-1500:]}\n" for seat in self.operators)

    async def _told(self) -> Json:
        try:
            return {name: await self.status(name) for name in (SHARED, LED, FIXED)}
        except (AnswerError, *TROUBLE):
            return {}

    def without_operator(self) -> contextlib.AbstractAsyncContextManager[None]:
        raise NotImplementedError

    async def allow(self, name: str) -> None:
        raise NotImplementedError

    def group(self, replicas: int = 1, name: str = FIXED, image: str = "chaos", **spec: object) -> Json:
        """One whose operator and pods come to the database by ways of their own."""
        login = "operators-fixed" if name == FIXED else "operators"
        database = {"secretRef": {"name": login}, "runnerSecretRef": {"name": "pods"}}
        common = {
            "database": database, "slots": 3, "drain": {"timeoutSeconds": 20}, "startupTimeoutSeconds": 15,
            "updateStrategy": {"canary": {"runners": 1, "observeSeconds": 1}},
        }  # fmt: skip
        return runner_group(self.namespace, name, replicas, image, {**common, **spec})

    @property
    def groups(self) -> list[Json]:
        """As a user has written them."""
        scaling = {
            "mode": "Internal", "minReplicas": 1, "maxReplicas": MOST,
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": 4}},
        }  # fmt: skip
        return [
            self.group(1, SHARED, autoscaling=scaling),
            self.group(SIZES[LED], LED, dispatch="Leader"),
            self.group(SIZES[FIXED], FIXED),
        ]

    async def acts(self, seat: Seat) -> bool:
        """Whether an operator says that it does."""
        try:
            async with self.web.get(f"http://127.0.0.1:{self.ports[seat.name]}/metrics") as answer:
                return LEADS in await answer.text()
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False

    async def acting(self) -> Seat:
        """The operator that acts, once there is one."""
        found: list[Seat] = []

        async def one() -> bool:
            found[:] = [seat for seat in self.operators if await self.acts(seat)]
            return len(found) == 1

        await self.until(one, "one of the operators acts")
        return found[0]

    async def busy_pods(self) -> list[str]:
        """Pods that have jobs now, the ones with the most first."""
        held = [each for each in await self.registrations() if each.held and each.hostname]
        pods = await self.pod_names()
        return [name for each in sorted(held, key=lambda each: -each.held) if (name := str(each.hostname)) in pods]

    def node_of(self, pod: str) -> LocalNode | None:
        """Where its processes are."""
        return next((node for node in self.nodes if node.pids(self.namespace, pod)), None)

    # how it comes up

    def login(self, way: str) -> str:
        return f"chaos_{way}"

    def way(self, name: str) -> str:
        """A database URL for a login of its own."""
        parts = urlsplit(self.databases.ways[name].url)
        netloc = f"{self.login(name)}:chaos@{parts.hostname}:{parts.port}"
        return urlunsplit(parts._replace(netloc=netloc))

    async def prepare_database(self) -> None:
        await migrate(self.url)
        for way, role in ROLES.items():
            await self.database.value(f"CREATE ROLE {self.login(way)} LOGIN PASSWORD 'chaos'")
            await self.database.value("SELECT paceline.grant_login($1, $2, NULL)", self.login(way), role)
        async with self.databases.connected() as connection:
            await audit.install(connection)
            await connection.execute("SELECT paceline.set_pool($1, p_rate => $2, p_burst => $3)", *POOL_RATE)
            for pool in POOLS:
                await connection.execute("SELECT paceline.set_kind($1, $2, $3, $4)", pool, *KIND_RATE)
                await connection.execute("SELECT paceline.set_key($1, $2, NULL, $3, $4)", pool, *KEY_RATE)
        entry = CronEntry(name=EACH_MINUTE, schedule="* * * * *", job=NewJob(kind="cron", payload={"n": -1}))
        await Cron(self.database, SHARED).put(entry)

    def environment(self, **more: str) -> dict[str, str]:
        """Of our programs: nothing of the user's own settings, and a clock that can jump."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PACELINE_")}
        return {**kept, **self.clock.env, **more}

    @property
    def runner_environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(TESTS), "PACELINE_APP": self.app, "SCRATCH": str(self.scratch)}

    def image(self) -> Image:
        env = {
            "PATH": f"{PROGRAMS}:{PATH}", **self.clock.env, **self.runner_environment,
            "PACELINE_HEARTBEAT_INTERVAL_SECS": "3", "PACELINE_STALE_THRESHOLD_SECS": str(LEASE),
        }  # fmt: skip
        return Image(entrypoint=(str(PROGRAMS / "paceline"), "run"), env=env)

    def add_operator(self, name: str, kubeconfig: Path) -> None:
        self.ports[name] = free_ports(1)[0]
        words = [
            "operator", "--kubeconfig", str(kubeconfig), "--namespaces", self.namespace, "--install", self.install,
            "--lease-namespace", self.namespace, "--listen", f"127.0.0.1:{self.ports[name]}", "--log-format", "json",
        ]  # fmt: skip
        self.operators.append(self._seat(name, words, self.environment()))

    def add_gateway(self, name: str) -> None:
        self.ports[name] = free_ports(1)[0]
        words = ["gateway", "--listen", f"127.0.0.1:{self.ports[name]}", "--leave", "0", "--log-format", "json"]
        self.gateways.append(self._seat(name, words, self.environment(PACELINE_DATABASE_URL=self.way("gateways"))))

    async def add_dialler(self, name: str, url: str) -> None:
        token = await Tokens(self.database).create(
            "rk", install=self.install, namespace=self.namespace, group=FIXED, runner=name
        )
        file = self.scratch / f"{name}.token"
        file.write_text(token)
        words = ["run", "--gateway", url, "--token-file", str(file), "--listen", "none", "--log-format", "json"]
        environment = self.environment(**self.runner_environment, PACELINE_SLOTS="2")
        self.diallers.append(self._seat(name, words, environment, mortal=True))

    def _seat(self, name: str, words: list[str], env: dict[str, str], *, mortal: bool = False) -> Seat:
        return Seat(name, [str(PROGRAMS / "paceline"), *words], env, self.scratch / f"{name}.log", mortal)

    def gateway_url(self, seat: Seat) -> str:
        return f"http://127.0.0.1:{self.ports[seat.name]}"


@contextlib.asynccontextmanager
async def staged(scratch: Path, say: Callable[[str], None], *, limited: bool) -> AsyncIterator[Stage]:
    """Everything up and at work; nothing of it is left afterwards."""
    binaries = find_binaries(stderr_reporter())
    async with contextlib.AsyncExitStack() as stack:
        say("starting PostgreSQL and its standby")
        databases = await stack.enter_async_context(pair(scratch, *WAYS, limited=limited))
        say("starting etcd, API server, controller manager and scheduler")
        plane = await asyncio.to_thread(ControlPlane.start, binaries, node_grace=NODE_GRACE)
        stack.push_async_callback(asyncio.to_thread, plane.stop)
        stage = Stage(plane, databases, scratch)
        stage.say = say
        stack.push_async_callback(_stop_api_server, stage)
        await _open_ways(stage, stack)
        await stage.prepare_database()
        await _start_nodes(stage, stack)
        say("starting operators, gateways and runners")
        await _start_programs(stage, stack)
        yield stage


async def _open_ways(stage: Stage, stack: contextlib.AsyncExitStack) -> None:
    stage.database = await stack.enter_async_context(await Database.open(stage.url, size=6))
    stage.queue = Queue(stage.database, SHARED)
    stage.api = await stack.enter_async_context(await Api.connect(stage.plane.kubeconfig))
    stage.web = await stack.enter_async_context(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(5)))
    await stack.enter_async_context(stage.door.open())
    stage.line = await stack.enter_async_context(proxy(f"https://127.0.0.1:{stage.door.port}"))


async def _start_nodes(stage: Stage, stack: contextlib.AsyncExitStack) -> None:
    await asyncio.to_thread(stage.kubectl.teach)
    await stage.run("wait", "serviceaccount/default", "--for=create", "--timeout=120s")
    images = {
        "chaos": stage.image(),
        "crashing": Image(entrypoint=("sh", "-c", "exit 1"), env={"PATH": PATH}),
    }
    for name in ("chaos-a", "chaos-b"):
        node = LocalNode(
            stage.plane.folder / NODE_KUBECONFIG, NodeSpec(name, cpu="100", memory="100Gi"), images=images,
            timing=QUICK, renew=1.0,
        )  # fmt: skip
        stage.nodes.append(await stack.enter_async_context(node))
    for way in ("operators", "pods"):
        await stage.secret(way, url=stage.way(way))
    await stage.secret("operators-fixed", url=stage.way("operators"))


async def _start_programs(stage: Stage, stack: contextlib.AsyncExitStack) -> None:
    port = urlsplit(stage.line.url).port
    assert port is not None
    kubeconfig = stage.door.kubeconfig(stage.scratch / "door.kubeconfig", port)
    for number in (1, 2):
        stage.add_operator(f"operator-{number}", kubeconfig)
        stage.add_gateway(f"gateway-{number}")
    for group in stage.groups:
        await stage.apply(group)
    _keep(stage, stack, [*stage.operators, *stage.gateways])
    stage.front = await stack.enter_async_context(front([stage.gateway_url(each) for each in stage.gateways]))
    stage.producer_token = await Tokens(stage.database).create("pk")
    stage.admin_token = await Tokens(stage.database).create("ak")
    for name, size in SIZES.items():
        await stage.until(partial(_ready, stage, name, size), f"{name} is ready")
    await stage.add_dialler("dial-socket", stage.front.url)
    await stage.add_dialler("dial-poll", await stack.enter_async_context(strict_proxy(stage.front.url)))
    _keep(stage, stack, stage.diallers)


async def _stop_api_server(stage: Stage) -> None:
    if stage.api_server:
        await asyncio.to_thread(stage.api_server.stop)


async def _ready(stage: Stage, name: str, size: int) -> bool:
    return bool((await stage.status(name)).get("readyReplicas", 0) >= size)


def _keep(stage: Stage, stack: contextlib.AsyncExitStack, seats: list[Seat]) -> None:
    """Started, and started again whenever they end."""
    for seat in seats:
        task = asyncio.create_task(seat.keep())
        stack.push_async_callback(asyncio.to_thread, seat.stop)
        stack.callback(task.cancel)
