"""The Node object and its Lease, as a kubelet would write them."""

import datetime
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paceline_dev.errors import DevError
from paceline_dev.node.wire import Json, micro_stamp, stamp

LEASE_SECONDS = 40
VERSION = "v1.36.4"
PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """What a user may say of a node."""

    name: str
    pods: int = 110
    cpu: str = ""
    memory: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Json] = ()

    @property
    def capacity(self) -> Json:
        """What the scheduler may hand out; unsaid, the machine's own."""
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024
        return {
            "cpu": self.cpu or str(os.cpu_count() or 1),
            "memory": self.memory or f"{size}Ki",
            "ephemeral-storage": "100Gi",
            "pods": str(self.pods),
        }


def node_object(spec: NodeSpec) -> Json:
    """The object to create; its status follows."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    labels = {
        "kubernetes.io/hostname": spec.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": machine,
        "node.paceline.dev/local": "true",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": spec.name, "labels": {**labels, **spec.labels}},
        "spec": {"taints": [*spec.taints]},
    }


def node_status(spec: NodeSpec, address: str, port: int, before: Json, now: datetime.datetime) -> Json:
    """A strategic merge patch of the status; conditions keep the time of their last change."""
    known = {each["type"]: each for each in before.get("conditions") or ()}
    ready = ("Ready", "KubeletReady", "kubelet is posting ready status")
    conditions = [_condition(*each, "False", known, now) for each in PRESSURES]
    return {
        "capacity": spec.capacity,
        "allocatable": spec.capacity,
        "addresses": _addresses(address, before.get("addresses") or []),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "conditions": [*conditions, _condition(*ready, "True", known, now)],
        "nodeInfo": {
            "architecture": node_object(spec)["metadata"]["labels"]["kubernetes.io/arch"],
            "bootID": "",
            "containerRuntimeVersion": "local://1",
            "kernelVersion": platform.release(),
            "kubeProxyVersion": "",
            "kubeletVersion": VERSION,
            "machineID": spec.name,
            "operatingSystem": "linux",
            "osImage": "processes of this machine",
            "systemUUID": spec.name,
        },
    }


def _addresses(address: str, before: Sequence[Json]) -> list[Json]:
    """The API server asks for logs at the Hostname first: a name would send it to a name server, so it is the address.

    Addresses are merged by their type, so those of a predecessor are replaced.
    """
    kinds = ("InternalIP", "Hostname")
    old = [{"$patch": "delete", "type": each["type"]} for each in before if each["type"] not in kinds]
    return [*({"type": kind, "address": address} for kind in kinds), *old]


def _condition(
    kind: str, reason: str, message: str, status: str, known: Mapping[str, Json], now: datetime.datetime
) -> Json:
    old = known.get(kind)
    since = old["lastTransitionTime"] if old and old["status"] == status else stamp(now)
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": stamp(now),
        "lastTransitionTime": since,
    }


def lease(spec: NodeSpec, uid: str, now: datetime.datetime) -> Json:
    """The sign of life that the node controller looks at."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": spec.name, "uid": uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": spec.name, "namespace": "kube-node-lease", "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": spec.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": micro_stamp(now),
        },
    }


def parse_taint(text: str) -> Json:
    """`key=value:Effect` or `key:Effect`."""
    left, _, effect = text.rpartition(":")
    key, _, value = left.partition("=")
    if not key or effect not in EFFECTS:
        raise DevError(f'--taint "{text}" is not key=value:Effect with an effect of {", ".join(EFFECTS)}')
    return {"key": key, "value": value, "effect": effect}
