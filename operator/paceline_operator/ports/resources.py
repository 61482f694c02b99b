"""The kinds of objects that the operator reads and writes, and where the API server keeps them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from paceline_operator.ports.errors import ClusterError


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """One kind of object: its group, version and both of its names."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """Group and version, as a manifest writes them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str | None, name: str = "", subresource: str = "") -> str:
        """Where the API server serves it; without a namespace that of all namespaces, without a name the collection."""
        steps = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            steps += ["namespaces", namespace]
        steps += [step for step in (self.plural, name, subresource) if step]
        return "/" + "/".join(quote(step, safe="") for step in steps)


RUNNER_GROUP = ResourceKind("paceline.dev", "v1alpha1", "runnergroups", "RunnerGroup")
RUNNER = ResourceKind("paceline.dev", "v1alpha1", "runners", "Runner")
POD = ResourceKind("", "v1", "pods", "Pod")
NODE = ResourceKind("", "v1", "nodes", "Node", namespaced=False)
SECRET = ResourceKind("", "v1", "secrets", "Secret")
CONFIG_MAP = ResourceKind("", "v1", "configmaps", "ConfigMap")
NAMESPACE = ResourceKind("", "v1", "namespaces", "Namespace", namespaced=False)
POD_DISRUPTION_BUDGET = ResourceKind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
CONTROLLER_REVISION = ResourceKind("apps", "v1", "controllerrevisions", "ControllerRevision")
EVENT = ResourceKind("events.k8s.io", "v1", "events", "Event")
LEASE = ResourceKind("coordination.k8s.io", "v1", "leases", "Lease")

ALL = (
    RUNNER_GROUP, RUNNER, POD, NODE, SECRET, CONFIG_MAP, NAMESPACE, POD_DISRUPTION_BUDGET, CONTROLLER_REVISION, EVENT,
    LEASE,
)  # fmt: skip
_BY_KIND = {(resource.api_version, resource.kind): resource for resource in ALL}


def resource_of(manifest: Mapping[str, Any]) -> ResourceKind:
    """The kind that a manifest says it is."""
    api_version, kind = manifest.get("apiVersion", ""), manifest.get("kind", "")
    try:
        return _BY_KIND[api_version, kind]
    except KeyError:
        known = ", ".join(sorted(resource.kind for resource in ALL))
        raise ClusterError(
            f'no resource is known for kind "{kind}" of "{api_version}" (known are {known}): '
            "add it to paceline_operator/ports/resources.py"
        ) from None
