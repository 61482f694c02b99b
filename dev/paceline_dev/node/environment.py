"""The variables of a container, by the kubelet's rules (kubelet_pods.go: makeEnvironmentVariables)."""

import base64
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from paceline_dev.errors import DevError
from paceline_dev.node.expand import expand
from paceline_dev.node.spec import Container, Pod
from paceline_dev.node.wire import Json

Kind = Literal["secret", "configmap"]
Fetch = Callable[[Kind, str, str], Awaitable[Mapping[str, str] | None]]
"""The decoded data of a Secret or ConfigMap by namespace and name; None if it does not exist."""
_TITLES: Mapping[Kind, str] = {"secret": "Secret", "configmap": "ConfigMap"}


class ConfigError(DevError):
    """Something that a container refers to does not exist (yet); the words are the kubelet's."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pod has come to run."""

    address: str
    host: str


def decode(kind: Kind, found: Json) -> Mapping[str, str]:
    """The data of a Secret or ConfigMap; bytes that are no UTF-8 go through as they are."""
    data = found.get("data") or {}
    if kind == "configmap":
        return dict(data)
    return {key: base64.b64decode(value).decode(errors="surrogateescape") for key, value in data.items()}


async def variables(pod: Pod, container: Container, place: Place, fetch: Fetch) -> dict[str, str]:
    """What the pod says: `envFrom` first, then `env` in its order, each seeing those before it."""
    known: dict[str, str] = {}
    for source in container.env_from:
        for kind, key in (("configmap", "configMapRef"), ("secret", "secretRef")):
            if ref := source.get(key):
                data = await _data(kind, pod.namespace, ref, fetch)  # type: ignore[arg-type]  # the literals above
                known |= {source.get("prefix", "") + name: value for name, value in (data or {}).items()}
    for entry in container.env:
        value = await _value(entry, pod, place, known, fetch)
        if value is not None:
            known[entry["name"]] = value
    return known


async def _value(entry: Json, pod: Pod, place: Place, known: Mapping[str, str], fetch: Fetch) -> str | None:
    """The value of one variable; None for an optional one that there is not."""
    source = entry.get("valueFrom")
    if entry.get("value") or not source:
        return expand(entry.get("value", ""), known)
    if "fieldRef" in source:
        return field_value(source["fieldRef"]["fieldPath"], pod, place)
    kind: Kind = "secret" if "secretKeyRef" in source else "configmap"
    ref = source["secretKeyRef"] if kind == "secret" else source["configMapKeyRef"]
    data = await _data(kind, pod.namespace, ref, fetch)
    if data is None:
        return None
    if ref["key"] not in data:
        if ref.get("optional"):
            return None
        title = _TITLES[kind]
        raise ConfigError(f"couldn't find key {ref['key']} in {title} {pod.namespace}/{ref.get('name', '')}")
    return data[ref["key"]]


async def _data(kind: Kind, namespace: str, ref: Json, fetch: Fetch) -> Mapping[str, str] | None:
    name = ref.get("name", "")
    data = await fetch(kind, namespace, name)
    if data is None and not ref.get("optional"):
        raise ConfigError(f'{kind} "{name}" not found')
    return data


def field_value(path: str, pod: Pod, place: Place) -> str:
    """What a `fieldRef` means for this pod."""
    for prefix, values in (("metadata.labels['", pod.labels), ("metadata.annotations['", pod.annotations)):
        if path.startswith(prefix):
            return values.get(path[len(prefix) : -2], "")
    return {
        "metadata.name": pod.name,
        "metadata.namespace": pod.namespace,
        "metadata.uid": pod.uid,
        "spec.nodeName": pod.node,
        "spec.serviceAccountName": pod.account,
        "status.podIP": place.address,
        "status.podIPs": place.address,
        "status.hostIP": place.host,
        "status.hostIPs": place.host,
    }[path]
