"""What goes into a report. Whatever cannot be had is written down, and the rest is collected all the same."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from paceline.errors import PacelineError
from paceline_cli.output import plain
from paceline_operator.adapters.requests import FIELD_MANAGER
from paceline_operator.domain.names import LABEL_GROUP
from paceline_operator.ports.errors import ForbiddenError
from paceline_operator.ports.resources import (
    CONTROLLER_REVISION,
    EVENT,
    LEASE,
    POD,
    POD_DISRUPTION_BUDGET,
    RUNNER,
    RUNNER_GROUP,
    SECRET,
    ResourceKind,
)

if TYPE_CHECKING:
    from paceline_cli.cluster import Where
    from paceline_cli.kube.streams import Streams
    from paceline_cli.report.bundle import Bundle
    from paceline_cli.report.clean import Cleaner
    from paceline_cli.source.port import Source

DEPLOYMENT: Final = ResourceKind("apps", "v1", "deployments", "Deployment")
CRD: Final = ResourceKind("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False)
OURS: Final = {"app.kubernetes.io/name": "paceline"}
LINES: Final = 5_000
"""Of each log: the newest, at most."""
LOG_BYTES: Final = 4 * 2**20
JOBS: Final = 200
SINCE: Final = timedelta(days=1)


@dataclass
class Collector:
    """Puts what it finds into a bundle, cleaned."""

    bundle: "Bundle"
    cleaner: "Cleaner"
    say: Callable[[str], None]
    failed: list[dict[str, str]] = field(default_factory=list)
    _known: set[tuple[str, str | None, str]] = field(default_factory=set)
    """Kind, namespace and name of the objects that are in it."""

    @contextlib.contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """One part; what goes wrong with it does not keep the others away."""
        self.say(what)
        try:
            yield
        except PacelineError as error:
            self.failed.append({"what": what, "why": self.cleaner.text("manifest.json", str(error), what)})

    # the cluster

    async def objects(self, where: "Where") -> None:
        """Groups and all that belongs to them; the operator and the gateway wherever they are."""
        for resource in (RUNNER_GROUP, RUNNER):
            await self._list(where, resource, where.scope)
        for resource in (POD, CONTROLLER_REVISION, POD_DISRUPTION_BUDGET):
            await self._list(where, resource, where.scope, {LABEL_GROUP: None})
        for resource in (DEPLOYMENT, POD):
            with self.trying(f"{resource.kind}s of the operator and the gateway"):
                for each in await _everywhere(where, resource, OURS):
                    self._object(each)
        with self.trying("Leases"):
            for each in await _everywhere(where, LEASE):
                writers = {entry.get("manager") for entry in each["metadata"].get("managedFields") or ()}
                if FIELD_MANAGER in writers and each["metadata"]["name"].endswith("-operator"):
                    self._object(each)
        with self.trying("CustomResourceDefinitions"):
            for each in await where.cluster.list(CRD, None):
                if each["spec"]["group"] == RUNNER_GROUP.group:
                    self._object({**each, "spec": {"group": each["spec"]["group"], "versions": [
                        {key: version.get(key) for key in ("name", "served", "storage")}
                        for version in each["spec"]["versions"]
                    ]}})  # fmt: skip

    async def secrets(self, where: "Where") -> None:
        """Those that groups name: which keys they have, and nothing more."""
        with self.trying("Secrets (their keys)"):
            wanted = {
                (group["metadata"]["namespace"], ref["name"])
                for group in await where.cluster.list(RUNNER_GROUP, where.scope)
                for key in ("secretRef", "runnerSecretRef")
                if (ref := (group["spec"].get("database") or {}).get(key))
            }
            for namespace, name in sorted(wanted):
                found = await where.cluster.get(SECRET, namespace, name)
                if found is None:
                    self.failed.append({"what": f"Secret {namespace}/{name}", "why": "it is not there"})
                else:
                    self._object(found)

    async def events(self, where: "Where") -> None:
        """What was said about our objects."""
        with self.trying("Events"):
            found = [
                each for each in await where.cluster.list(EVENT, where.scope)
                if _about(each.get("regarding") or {}) in self._known
            ]  # fmt: skip
            self._json("events.json", found)

    async def logs(self, where: "Where", streams: "Streams", runners: bool) -> None:
        """Of the operator and the gateway; of runners where it was asked for."""
        with self.trying("version of the API server"):
            self._json("cluster.json", await streams.version())
        with self.trying("logs of the operator and the gateway"):
            await self._logs(streams, await _everywhere(where, POD, OURS))
        if runners:
            with self.trying("logs of runners"):
                await self._logs(streams, await where.cluster.list(POD, where.scope, labels={LABEL_GROUP: None}))

    async def _logs(self, streams: "Streams", pods: list[dict[str, Any]]) -> None:
        for pod in pods:
            meta = pod["metadata"]
            for container in pod["spec"]["containers"]:
                name = f"logs/{meta['namespace']}/{meta['name']}.{container['name']}.log"
                await self._log(streams, pod, container["name"], name, previous=False)
                if _restarts(pod, container["name"]):
                    await self._log(streams, pod, container["name"], f"{name}.previous", previous=True)

    async def _log(self, streams: "Streams", pod: dict[str, Any], container: str, name: str, *, previous: bool) -> None:
        with self.trying(name):
            query = {"container": container, "tailLines": str(LINES), "timestamps": "true"}
            query |= {"previous": "true"} if previous else {}
            text = await _whole(streams.log(pod["metadata"]["namespace"], pod["metadata"]["name"], query))
            self.bundle.add(name, self.cleaner.text(name, text))

    async def _list(
        self, where: "Where", resource: ResourceKind, scope: str | None, labels: dict[str, str | None] | Any = None
    ) -> None:
        with self.trying(f"{resource.kind}s" + (f" in {scope}" if scope else "")):
            for each in await where.cluster.list(resource, scope, labels=labels):
                self._object(each)

    def _object(self, found: dict[str, Any]) -> None:
        meta = found["metadata"]
        self._known.add((found["kind"], meta.get("namespace"), meta["name"]))
        folder = f"objects/{meta.get('namespace', 'cluster')}/{str(found['kind']).lower()}"
        name = f"{folder}/{meta['name']}.json"
        if not any(each["name"] == name for each in self.bundle.files):
            self._json(name, found)

    # the queue

    async def queue(self, source: "Source", namespace: str | None) -> None:
        """Snapshots of pools, runners and decisions; of jobs what is needed to see why they wait."""
        groups = [each for each in await source.find_groups() if namespace in (None, each.namespace)]
        pools = {each.pool for each in groups}
        asked: dict[str, Callable[[], Awaitable[Sequence[Any]]]] = {
            "groups": source.snapshot, "runners": source.list_runners, "pools": source.list_pools,
            "unclaimable": source.unclaimable,
        }  # fmt: skip
        for name, ask in asked.items():
            with self.trying(f"queue: {name}"):
                found = [each for each in await ask() if namespace is None or _pool(each) in pools]
                self._json(f"queue/{name}.json", plain(found))
        with self.trying("queue: decisions"):
            for group in groups:
                decisions = await source.list_decisions(group.id, since=SINCE, most=500)
                self._json(f"queue/decisions/{group.full_name.replace('/', '.')}.json", plain(decisions))
                await self._jobs(source, group.pool)

    async def _jobs(self, source: "Source", pool: str) -> None:
        name = f"queue/jobs/{pool}.json"
        if any(each["name"] == name for each in self.bundle.files):
            return
        jobs = await source.list_jobs(pool, limit=JOBS)
        if self.cleaner.payloads:
            self._json(name, [plain(await source.job_detail(each.id)) for each in jobs])
        else:
            self._json(name, plain(jobs))

    def _json(self, name: str, value: Any) -> None:
        self.bundle.add_json(name, self.cleaner.thing(name, value))


async def _everywhere(
    where: "Where", resource: ResourceKind, labels: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """In all namespaces, wherever the groups are; in one, where no more may be seen."""
    try:
        return await where.cluster.list(resource, None, labels=labels)
    except ForbiddenError:
        return await where.cluster.list(resource, where.namespace, labels=labels)


def _about(regarding: dict[str, Any]) -> tuple[str, str | None, str]:
    return str(regarding.get("kind")), regarding.get("namespace"), str(regarding.get("name"))


def _restarts(pod: dict[str, Any], container: str) -> int:
    every = (pod.get("status") or {}).get("containerStatuses") or []
    return next((int(each["restartCount"]) for each in every if each["name"] == container), 0)


def _pool(seen: Any) -> str:
    """The pool that a row is about."""
    return str(getattr(seen, "pool", None) or seen.name)


async def _whole(pieces: AsyncIterator[bytes]) -> str:
    found = b""
    async for piece in pieces:
        found = (found + piece)[-LOG_BYTES:]
    return found.decode(errors="replace")
