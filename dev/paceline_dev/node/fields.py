"""What the node makes of each field of a pod: served, or accepted for a reason, or the pod is refused by its name.

A field that is not in these tables is one that a test would believe in while nothing happens. So the pod is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paceline_dev.node.wire import Json

TOKEN_VOLUME = "kube-api-access-"  # noqa: S105 -- the name of a volume
"""How the API server's admission names the volume with the service account's token."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Means nothing for a process on this machine; `why` is for the reader of the table and of the docs."""

    why: str


@dataclass(frozen=True, slots=True)
class Only:
    """Served for these values alone."""

    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Each:
    """A list whose items follow one rule."""

    rule: "Rule"


class Served:
    """The node does what the field says."""


Rule = Served | Accepted | Only | Each | Mapping[str, "Rule"]
SERVED = Served()
SCHEDULER = Accepted("the scheduler has dealt with it")
NO_CONTAINER = Accepted("a process has no container around it")

FIELD_PATHS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs",
)  # fmt: skip

_KEY = {"name": SERVED, "key": SERVED, "optional": SERVED}
_OBJECT = {"name": SERVED, "optional": SERVED}
_ENV: Rule = {
    "name": SERVED,
    "value": SERVED,
    "valueFrom": {
        "secretKeyRef": _KEY,
        "configMapKeyRef": _KEY,
        "fieldRef": {"apiVersion": SERVED, "fieldPath": SERVED},
    },
}
_HTTP: Rule = {
    "host": SERVED, "port": SERVED, "path": SERVED, "scheme": SERVED,
    "httpHeaders": Each({"name": SERVED, "value": SERVED}),
}  # fmt: skip
_EXEC: Rule = {"command": SERVED}
_PROBE: Rule = {
    "httpGet": _HTTP, "tcpSocket": {"host": SERVED, "port": SERVED}, "exec": _EXEC,
    "initialDelaySeconds": SERVED, "periodSeconds": SERVED, "timeoutSeconds": SERVED,
    "successThreshold": SERVED, "failureThreshold": SERVED, "terminationGracePeriodSeconds": SERVED,
}  # fmt: skip
_CONTAINER: dict[str, Rule] = {
    "name": SERVED,
    "image": SERVED,
    "imagePullPolicy": SERVED,
    "command": SERVED,
    "args": SERVED,
    "workingDir": SERVED,
    "env": Each(_ENV),
    "envFrom": Each({"prefix": SERVED, "secretRef": _OBJECT, "configMapRef": _OBJECT}),
    "ports": Accepted("names are served for probes; a process listens where it likes"),
    "resources": Accepted("the scheduler counts them; nothing limits a process"),
    "resizePolicy": Accepted("nothing limits a process"),
    "volumeMounts": Accepted("only for the volumes below"),
    "startupProbe": _PROBE,
    "readinessProbe": _PROBE,
    "livenessProbe": _PROBE,
    "lifecycle": {"preStop": {"exec": _EXEC, "httpGet": _HTTP, "sleep": {"seconds": SERVED}}},
    "terminationMessagePath": Accepted("a process sees the machine's own files; the policy is served"),
    "terminationMessagePolicy": SERVED,
    "securityContext": Accepted("a process runs as the node's own user"),
}
_VOLUME: Rule = {
    "name": SERVED,
    "emptyDir": Accepted("the mount path must be a folder of this machine, and is used as it is"),
    "projected": Accepted(f"only in {TOKEN_VOLUME}*, which is not written: nothing here talks to the API from a pod"),
}
POD: Mapping[str, Rule] = {
    "containers": Each(_CONTAINER),
    "initContainers": Each({**_CONTAINER, "restartPolicy": Only(("Always",))}),
    "restartPolicy": SERVED,
    "terminationGracePeriodSeconds": SERVED,
    "activeDeadlineSeconds": SERVED,
    "serviceAccountName": SERVED,
    "nodeName": SERVED,
    "hostname": SERVED,
    "volumes": Each(_VOLUME),
    "affinity": SCHEDULER,
    "nodeSelector": SCHEDULER,
    "preemptionPolicy": SCHEDULER,
    "priority": SCHEDULER,
    "priorityClassName": SCHEDULER,
    "schedulerName": SCHEDULER,
    "schedulingGates": SCHEDULER,
    "tolerations": SCHEDULER,
    "topologySpreadConstraints": SCHEDULER,
    "automountServiceAccountToken": Accepted("see volumes"),
    "dnsConfig": NO_CONTAINER,
    "dnsPolicy": NO_CONTAINER,
    "enableServiceLinks": Accepted("Services do not reach local pods"),
    "imagePullSecrets": Accepted("nothing is pulled"),
    "os": {"name": Only(("linux",))},
    "securityContext": Accepted("a process runs as the node's own user"),
    "serviceAccount": Accepted("the old name of serviceAccountName"),
    "setHostnameAsFQDN": Only((False,)),
    "shareProcessNamespace": Only((False,)),
    "subdomain": Accepted("there is no DNS"),
    "hostUsers": Only((True,)),
}


def unknown_fields(spec: Json, is_folder: Callable[[str], bool]) -> list[str]:
    """The JSON paths of all fields that the node does not serve, in the order of the pod."""
    return [*_walk("spec", spec, POD), *_volumes(spec, is_folder), *_field_refs(spec)]


def _walk(path: str, value: Any, rule: Rule) -> list[str]:
    match rule:
        case Served() | Accepted():
            return []
        case Only(values):
            return [] if value in values else [path]
        case Each(inner):
            return [found for n, item in enumerate(value or ()) for found in _walk(f"{path}[{n}]", item, inner)]
    found: list[str] = []
    for key, item in (value or {}).items():
        found += _walk(f"{path}.{key}", item, rule[key]) if key in rule else [f"{path}.{key}"]
    return found


def _volumes(spec: Json, is_folder: Callable[[str], bool]) -> list[str]:
    """Projected volumes that are not the token, and empty folders where the machine has no folder."""
    volumes: Sequence[Json] = spec.get("volumes") or ()
    found = [
        f"spec.volumes[{n}].projected"
        for n, volume in enumerate(volumes)
        if "projected" in volume and not volume["name"].startswith(TOKEN_VOLUME)
    ]
    empty = {volume["name"] for volume in volumes if "emptyDir" in volume}
    for path, container in _containers(spec):
        for n, mount in enumerate(container.get("volumeMounts") or ()):
            if mount["name"] in empty and (
                not is_folder(mount["mountPath"]) or mount.keys() & {"subPath", "subPathExpr"}
            ):
                found.append(f"{path}.volumeMounts[{n}] ({mount['mountPath']} is no folder of this machine)")
    return found


def _field_refs(spec: Json) -> list[str]:
    found = []
    for path, container in _containers(spec):
        for n, variable in enumerate(container.get("env") or ()):
            wanted = (variable.get("valueFrom") or {}).get("fieldRef", {}).get("fieldPath")
            if (
                wanted
                and wanted not in FIELD_PATHS
                and not wanted.startswith(("metadata.labels[", "metadata.annotations["))
            ):
                found.append(f"{path}.env[{n}].valueFrom.fieldRef.fieldPath ({wanted})")
    return found


def _containers(spec: Json) -> list[tuple[str, Json]]:
    return [
        (f"spec.{part}[{n}]", container)
        for part in ("initContainers", "containers")
        for n, container in enumerate(spec.get(part) or ())
    ]
