"""A namespace with a database, a node and an operator of its own: everything real but the containers."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cluster.local import where
from cluster.place import Json
from paceline import Queue
from paceline.job import JobId
from paceline.operating import Operating, RegistrationSeen
from paceline.reading import Reader
from paceline.seen import JobDetail
from paceline.testing.scratch import free_ports
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import AnswerError, Api
from paceline_dev.node.images import PATH, Image
from paceline_dev.node.node import LocalNode
from support.forked import Forked

PATIENCE = 30.0
PROGRAMS = Path(sys.executable).parent
GROUPS = "/apis/paceline.dev/v1alpha1/namespaces/{}/runnergroups"
RUNNERS = "/apis/paceline.dev/v1alpha1/namespaces/{}/runners"


def shop(scratch: Path, **env: str) -> Image:
    """The image that the runners' pods have: the real runner with the handlers of tests/runner/apps."""
    tests = Path(__file__).resolve().parents[2]
    return Image(
        entrypoint=(str(PROGRAMS / "paceline"), "run"),
        env={"PATH": f"{PROGRAMS}:{PATH}", "PYTHONPATH": str(tests), "PACELINE_APP": "runner.apps.shop:jobs",
             "SCRATCH": str(scratch), **env},
    )  # fmt: skip


@dataclass
class Site:
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

    # the operator

    def start_operator(self, port: int = 0, **env: str) -> Forked:
        """Start one that looks after this namespace only."""
        words = [
            "operator", "--namespaces", self.namespace, "--install", self.namespace,
            "--lease-namespace", self.namespace,
            "--kubeconfig", str(self.kubeconfig), "--listen", f"127.0.0.1:{port or self.port}", "--log-format", "json",
        ]  # fmt: skip
        path = self.scratch / f"operator-{len(self.processes)}.log"
        with path.open("wb") as log, Path(os.devnull).open() as nothing:
            process = Forked(
                words, {**os.environ, **env}, stdin=nothing.fileno(), stdout=log.fileno(), stderr=log.fileno()
            )
        self.processes.append(process)
        return process

    def start_laptop(self, name: str = "laptop", group: str = "builds") -> Forked:
        """Start a runner outside the cluster."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_")}
        own = {"PACELINE_DATABASE_URL": self.url, "SCRATCH": str(self.scratch), "PACELINE_LOG_FORMAT": "json"}
        words = [
            "run", "--group", f"{self.namespace}/{group}", "--install", self.namespace, "--name", name,
            "--app", "runner.apps.shop:jobs", "--listen", f"127.0.0.1:{free_ports(1)[0]}",
        ]  # fmt: skip
        path = self.scratch / f"{name}.log"
        with path.open("ab") as log, Path(os.devnull).open() as nothing:
            paths = os.pathsep.join([str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")])
            process = Forked(
                words, {**env, **own, "PYTHONPATH": paths}, stdin=nothing.fileno(), stdout=log.fileno(),
                stderr=log.fileno(),
            )  # fmt: skip
        self.laptops.append(process)
        return process

    async def stop_operator(self, number: int = signal.SIGTERM, which: int = -1) -> int:
        """End the last one that was started, or another."""
        process = self.processes[which]
        process.send_signal(number)
        return await asyncio.to_thread(process.wait, 20)

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

    # objects

    def group(self, replicas: int = 1, name: str = "builds", image: str = "shop", **spec: object) -> Json:
        """A RunnerGroup whose pods come to our node."""
        containers = [{"name": "runner", "image": image, "imagePullPolicy": "IfNotPresent"}]
        return {
            "apiVersion": "paceline.dev/v1alpha1",
            "kind": "RunnerGroup",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "replicas": replicas,
                "database": {"secretRef": {"name": "db"}},
                "template": {"spec": {"containers": containers, **where(self.node.name)}},
                **spec,
            },
        }

    async def apply(self, manifest: Json) -> None:
        """As a user would."""
        await asyncio.to_thread(self.kubectl.run, "apply", "-f", "-", stdin=json.dumps(manifest))

    async def run(self, *args: str) -> str:
        """kubectl in the namespace."""
        done = await asyncio.to_thread(self.kubectl.run, "-n", self.namespace, *args, check=False)
        return done.stdout + done.stderr

    async def secret(self, name: str = "db", **values: str) -> None:
        """A Secret with the database's URL, or with what is given."""
        data = values or {"url": self.url}
        await self.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": self.namespace},
                          "stringData": data})  # fmt: skip

    async def status(self, name: str = "builds") -> Json:
        found: Json = (await self.api.get(f"{GROUPS.format(self.namespace)}/{name}")).get("status") or {}
        return found

    async def condition(self, kind: str, name: str = "builds") -> Json:
        found: Json = next(
            (each for each in (await self.status(name)).get("conditions", ()) if each["type"] == kind), {}
        )
        return found

    async def runners(self) -> list[Json]:
        found: list[Json] = (await self.api.get(RUNNERS.format(self.namespace)))["items"]
        return found

    async def runner(self, name: str) -> Json:
        found: Json = await self.api.get(f"{RUNNERS.format(self.namespace)}/{name}")
        return found

    async def pods(self) -> list[Json]:
        found: list[Json] = (await self.api.get(f"/api/v1/namespaces/{self.namespace}/pods"))["items"]
        return found

    async def pod_names(self) -> set[str]:
        return {each["metadata"]["name"] for each in await self.pods()}

    async def events(self, kind: str = "RunnerGroup") -> list[tuple[str, str]]:
        """Reason and message of what was said about groups, or Runners."""
        found = (await self.api.get(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"))["items"]
        return [(each["reason"], each.get("note", "")) for each in found if each["regarding"]["kind"] == kind]

    # waiting

    async def until(self, true: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Wait for something, with the operator's log if it never comes."""

        end = time.monotonic() + seconds
        while True:
            found = true()
            if await found if asyncio.iscoroutine(found) else found:
                return
            if time.monotonic() > end:
                told = f"the group is {await self._told()}; the operator said:\n{self.log()[-3000:]}"
                raise AssertionError(f"it never came to this: {what}; {told}")
            await asyncio.sleep(0.15)  # each look is several requests

    async def _told(self) -> Json:
        try:
            return await self.status()
        except AnswerError:
            return {}

    async def settled(self, ready: int, name: str = "builds") -> Json:
        """Wait until the group has so many runners and all of them are ready."""

        async def is_so() -> bool:
            status = await self.status(name)
            conditions = {each["type"]: each for each in status.get("conditions", ())}
            return (
                status.get("readyReplicas") == ready
                and conditions.get("Ready", {}).get("reason") == "AsWanted"
                and len([each for each in await self.pods() if not each["metadata"].get("deletionTimestamp")]) == ready
            )

        await self.until(is_so, f"{ready} runners of {name} are ready")
        return await self.status(name)

    async def says(self, kind: str, reason: str, name: str = "builds", seconds: float = PATIENCE) -> Json:
        """Wait until a condition has a reason."""

        async def is_so() -> bool:
            return (await self.condition(kind, name)).get("reason") == reason

        await self.until(is_so, f"{kind} of {name} has the reason {reason}", seconds)
        return await self.condition(kind, name)

    # the database

    async def registrations(self) -> list[RegistrationSeen]:
        operating = Operating(self.queue.database)
        rows = await operating.list_groups(self.namespace)
        found: list[RegistrationSeen] = []
        for row in rows:
            found += await operating.look_at_group(row.id)
        return found

    async def job(self, number: JobId) -> JobDetail:
        found = await Reader(self.queue.database).job_detail(number)
        assert found is not None
        return found

    async def holding(self) -> dict[str, int]:
        """How many jobs each registered runner has."""
        return {each.runner: each.held for each in await self.registrations() if each.incarnation is not None}

    def marked(self, name: str) -> list[str]:
        """What handlers left in a file."""
        path = self.scratch / name
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def touch(self, name: str) -> None:
        (self.scratch / name).touch()


def ended(processes: Iterable[Forked]) -> None:
    """End what a test has left running."""
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait(10)


def seconds_since(began: float) -> float:
    """For assertions on how long something took."""
    return time.monotonic() - began
