"""A namespace with RunnerGroups and a database, as somebody sees it who waits for things to happen there."""

import abc
import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from cluster.place import Json
from paceline.job import Enqueued, JobId
from paceline.operating import Operating, RegistrationSeen
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.seen import Attempt, JobDetail
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import AnswerError, Api
from support.forked import Forked

PATIENCE = 120.0
GROUPS = "/apis/paceline.dev/v1alpha1/namespaces/{}/runnergroups"
RUNNERS = "/apis/paceline.dev/v1alpha1/namespaces/{}/runners"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}-operator"


class Watcher(abc.ABC):
    """What a story of the operator is told with, wherever the pods run."""

    api: Api
    kubectl: Kubectl
    namespace: str
    queue: Queue
    url: str
    scratch: Path
    laptops: list[Forked]
    app: str
    """The handlers of the pods, for a runner outside of them."""
    patience: float = PATIENCE

    @property
    @abc.abstractmethod
    def install(self) -> str:
        """The operator's name in the database."""

    @property
    @abc.abstractmethod
    def operator_namespace(self) -> str:
        """Where its Lease is."""

    @abc.abstractmethod
    def log(self) -> str:
        """What operators have said."""

    @abc.abstractmethod
    def without_operator(self) -> AbstractAsyncContextManager[None]:
        """Nobody looks after the groups meanwhile."""

    @abc.abstractmethod
    async def allow(self, name: str) -> None:
        """Let the job end that waits for this name."""

    @abc.abstractmethod
    def group(self, replicas: int = 1, name: str = "builds", **spec: Any) -> Json:
        """A RunnerGroup."""

    # objects

    async def apply(self, manifest: Json) -> None:
        """As a user would."""
        await asyncio.to_thread(self.kubectl.run, "apply", "-f", "-", stdin=json.dumps(manifest))

    async def run(self, *args: str) -> str:
        """kubectl in the namespace."""
        done = await asyncio.to_thread(self.kubectl.run, "-n", self.namespace, *args, check=False)
        return done.stdout + done.stderr

    async def paceline(self, *words: str) -> str:
        """Our own command, with the database's URL."""
        process = await asyncio.create_subprocess_exec(
            Path(sys.executable).parent / "paceline", *words, env={**os.environ, "PACELINE_DATABASE_URL": self.url},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        out, _ = await process.communicate()
        assert process.returncode == 0, out.decode()
        return out.decode()

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
        """Those of runners."""
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        found: list[Json] = (await self.api.get(path, labelSelector="paceline.dev/group"))["items"]
        return found

    async def pod_names(self) -> set[str]:
        return {each["metadata"]["name"] for each in await self.pods()}

    async def holder(self) -> str:
        """The operator that acts, by the Lease."""
        found = await self.api.get(LEASE.format(self.operator_namespace, self.install))
        return str(found["spec"].get("holderIdentity") or "")

    async def events(self, kind: str = "RunnerGroup") -> list[tuple[str, str]]:
        """Reason and message of what was said about groups, or Runners."""
        found = (await self.api.get(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"))["items"]
        return [(each["reason"], each.get("note", "")) for each in found if each["regarding"]["kind"] == kind]

    # waiting

    async def until(self, true: Callable[[], object], what: str, seconds: float | None = None) -> None:
        """Wait for something, with the operator's log if it never comes."""

        end = time.monotonic() + (seconds or self.patience)
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
        """Wait until the group has so many runners and all of them are ready; its status then."""
        status: Json = {}

        async def is_so() -> bool:
            nonlocal status
            status = await self.status(name)
            conditions = {each["type"]: each for each in status.get("conditions", ())}
            return (
                status.get("readyReplicas") == ready
                and conditions.get("Ready", {}).get("reason") == "AsWanted"
                and len([each for each in await self.pods() if not each["metadata"].get("deletionTimestamp")]) == ready
            )

        await self.until(is_so, f"{ready} runners of {name} are ready")
        return status

    async def tells(self, reason: str, words: str = "", kind: str = "RunnerGroup") -> None:
        """Wait for an event: it is posted after what it tells of has happened."""

        async def is_so() -> bool:
            return any(each == reason and words in note for each, note in await self.events(kind))

        await self.until(is_so, f"an event {reason} about a {kind} says: {words}")

    async def says(self, kind: str, reason: str, name: str = "builds", seconds: float | None = None) -> Json:
        """Wait until a condition has a reason."""

        async def is_so() -> bool:
            return (await self.condition(kind, name)).get("reason") == reason

        await self.until(is_so, f"{kind} of {name} has the reason {reason}", seconds)
        return await self.condition(kind, name)

    # the database

    async def registrations(self) -> list[RegistrationSeen]:
        operating = Operating(self.queue.database)
        rows = await operating.list_groups(self.install)
        found: list[RegistrationSeen] = []
        for row in rows:
            found += await operating.look_at_group(row.id)
        return found

    async def job(self, number: JobId) -> JobDetail:
        found = await Reader(self.queue.database).job_detail(number)
        assert found is not None
        return found

    async def attempts(self, number: JobId) -> list[Attempt]:
        """Those that did not succeed."""
        return await Reader(self.queue.database).job_attempts(number)

    async def running(self, number: JobId) -> None:
        """Wait until somebody has it."""
        await self._in(number, "running")

    async def finished(self, number: JobId) -> None:
        """Wait until it is done."""
        await self._in(number, "done")

    async def done_by(self, *made: Enqueued) -> list[str | None]:
        """Wait until these jobs are done, and say by whom."""
        for each in made:
            await self.finished(each.id)
        return [(await self.job(each.id)).runner for each in made]

    async def _in(self, number: JobId, state: str) -> None:
        async def is_so() -> bool:
            return (await self.job(number)).state == state

        await self.until(is_so, f"job {number} is {state}")

    async def holding(self) -> dict[str, int]:
        """How many jobs each registered runner has."""
        return {each.runner: each.held for each in await self.registrations() if each.incarnation is not None}
