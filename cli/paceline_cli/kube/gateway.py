"""Where the cluster's gateway is, and the token for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from paceline.errors import InvalidInputError, NotFoundError
from paceline_operator.ports.errors import ForbiddenError
from paceline_operator.ports.resources import POD, ResourceKind

if TYPE_CHECKING:
    from paceline_operator.ports.cluster import Cluster, Manifests

SERVICE: Final = ResourceKind("", "v1", "services", "Service")
LABELS: Final = {"app.kubernetes.io/name": "paceline", "app.kubernetes.io/component": "gateway"}
TOKEN_SECRET: Final = "paceline-token"  # noqa: S105 -- its name
TOKEN_KEY: Final = "token"  # noqa: S105
NO_GATEWAY: Final = (
    "no gateway is in this cluster (a Service with the labels "
    + ", ".join(f"{key}={value}" for key, value in LABELS.items())
    + "): apply manifests/gateway, or give --database-url, or --gateway URL"
)


@dataclass(frozen=True, slots=True)
class Door:
    """A pod of a gateway, and its port."""

    service: str
    namespace: str
    pod: str
    port: int


async def find_door(cluster: "Cluster", namespace: str, wanted: str | None = None) -> Door:
    """A ready pod of the gateway; `wanted` is the [namespace/]name of its Service, where there are several."""
    service = _one(await _services(cluster, namespace), namespace, wanted)
    meta, spec = service["metadata"], service["spec"]
    selector = spec.get("selector") or {}
    pods = await cluster.list(POD, meta["namespace"], labels=selector) if selector else []
    ready = sorted((each for each in pods if _is_ready(each)), key=lambda each: str(each["metadata"]["name"]))
    where = f"{meta['namespace']}/{meta['name']}"
    if not ready:
        raise NotFoundError(
            f"none of the {len(pods)} pods of the gateway {where} is ready: "
            f"kubectl -n {meta['namespace']} get pods shows why; or give --database-url"
        )
    port = _http(spec.get("ports") or [], where)
    return Door(where, meta["namespace"], ready[0]["metadata"]["name"], _number(ready[0], port))


async def find_token(cluster: "Cluster", door: Door) -> str:
    """The token in the Secret beside the gateway; no error shows it."""
    where = f"{door.namespace}/{TOKEN_SECRET}"
    fix = (
        f"make one: paceline token create --admin | kubectl -n {door.namespace} create secret generic {TOKEN_SECRET} "
        f"--from-file={TOKEN_KEY}=/dev/stdin; or give --token-file or PACELINE_TOKEN"
    )
    try:
        found = await cluster.read_secret(door.namespace, TOKEN_SECRET)
    except ForbiddenError as error:
        raise InvalidInputError(f"{error}; give --token-file or PACELINE_TOKEN") from None
    token = "" if found is None else found.get(TOKEN_KEY, "").strip()
    if not token:
        raise NotFoundError(f"there is no token for the gateway: no Secret {where} with a key {TOKEN_KEY} ({fix})")
    return token


async def _services(cluster: "Cluster", namespace: str) -> "Manifests":
    """In all namespaces; in one, where no more may be seen."""
    try:
        return await cluster.list(SERVICE, None, labels=LABELS)
    except ForbiddenError:
        return await cluster.list(SERVICE, namespace, labels=LABELS)


def _one(found: "Manifests", namespace: str, wanted: str | None) -> dict[str, Any]:
    by_name = {f"{each['metadata']['namespace']}/{each['metadata']['name']}": each for each in found}
    names = ", ".join(sorted(by_name)) or "none"
    if wanted:
        whole = wanted if "/" in wanted else f"{namespace}/{wanted}"
        if whole not in by_name:
            raise NotFoundError(f"there is no gateway {whole} (there are: {names}): correct --gateway")
        return by_name[whole]
    near = [each for name, each in by_name.items() if name.startswith(f"{namespace}/")]
    chosen = near if len(near) == 1 else list(by_name.values())
    if not chosen:
        raise NotFoundError(NO_GATEWAY)
    if len(chosen) > 1:
        raise InvalidInputError(f"this cluster has several gateways ({names}): choose with --gateway NAMESPACE/NAME")
    return chosen[0]


def _http(ports: list[dict[str, Any]], where: str) -> dict[str, Any]:
    """The port that speaks HTTP: the only one, or the one of that name."""
    named = [each for each in ports if each.get("name") in ("http", "https")] or ports
    if not named:
        raise NotFoundError(f"the Service {where} has no port: give --gateway URL")
    chosen = named[0]
    if "https" in (chosen.get("name"), chosen.get("appProtocol")):
        raise InvalidInputError(
            f"the gateway {where} serves TLS by itself: give its address with --gateway https://..."
        )
    return chosen


def _number(pod: dict[str, Any], port: dict[str, Any]) -> int:
    """Of the container's port that a Service's port leads to."""
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    every = [each for container in pod["spec"]["containers"] for each in container.get("ports") or []]
    found = next((each["containerPort"] for each in every if each.get("name") == target), None)
    if found is None:
        raise NotFoundError(f"pod {pod['metadata']['name']} has no port called {target}: give --gateway URL")
    return int(found)


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not pod["metadata"].get("deletionTimestamp")
