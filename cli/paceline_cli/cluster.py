"""What commands share that talk to the cluster's API server: how to reach it, and which namespace is meant."""

import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline.errors import InvalidInputError, NotFoundError
from paceline_cli.complete import namespaces
from paceline_cli.operator import NOT_INSTALLED

if TYPE_CHECKING:
    from paceline_cli.kube.streams import Streams
    from paceline_operator.adapters.access import Access
    from paceline_operator.ports.cluster import Cluster
    from paceline_operator.ports.resources import ResourceKind

Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace", "-n", metavar="NAME", autocompletion=namespaces, show_default="the context's",
        help="Where the group is.",
    ),
]  # fmt: skip
AllNamespaces = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="In all namespaces, also where one is given.")
]
Context = Annotated[str | None, typer.Option(metavar="NAME", help="Which context of the kubeconfig.")]
KubeconfigFile = Annotated[
    str | None, typer.Option(envvar="KUBECONFIG", metavar="FILE", help="How to reach the cluster.")
]


@dataclass(frozen=True, slots=True)
class Where:
    """A cluster that was reached, and the namespace that is meant."""

    cluster: "Cluster"
    namespace: str
    everywhere: bool
    access: "Access"

    @property
    def scope(self) -> str | None:
        """Where lists look: in one namespace, or (None) in all."""
        return None if self.everywhere else self.namespace

    @property
    def scope_in_words(self) -> str:
        """For messages."""
        return "any namespace" if self.everywhere else f"namespace {self.namespace}"

    def streams(self) -> "Streams":
        """Logs and ports of its pods."""
        from paceline_cli.kube.streams import Streams

        return Streams(self.access)

    async def need(self, resource: "ResourceKind", name: str) -> dict[str, Any]:
        """An object; NotFoundError says where it was looked for."""
        found = await self.cluster.get(resource, self.namespace, name)
        if found is None:
            raise NotFoundError(
                f"there is no {resource.kind} {name} in namespace {self.namespace}: "
                f"kubectl get {resource.plural} -A shows those that there are"
            )
        return found


@contextlib.asynccontextmanager
async def reached(
    namespace: str | None, context: str | None, kubeconfig: str | None, *, everywhere: bool = False
) -> AsyncIterator[Where]:
    """The cluster, for as long as the block lasts."""
    try:
        from paceline_operator.adapters.access import find_access
        from paceline_operator.adapters.cluster import KubernetesCluster
    except ModuleNotFoundError as error:
        raise InvalidInputError(f"{NOT_INSTALLED} (there is no {error.name})") from None
    access = find_access(kubeconfig, context)
    async with KubernetesCluster(access) as cluster:
        yield Where(cluster, namespace or _namespace(context, kubeconfig), everywhere, access)


def _namespace(context: str | None, kubeconfig: str | None) -> str:
    """That of the context, as kubectl takes it; in a pod its own."""
    if not (context or kubeconfig or os.environ.get("KUBECONFIG")) and os.environ.get("KUBERNETES_SERVICE_HOST"):
        from paceline_operator.adapters.access import SERVICE_ACCOUNT

        own = SERVICE_ACCOUNT / "namespace"
        return own.read_text().strip() if own.is_file() else "default"
    from kubernetes.config.kube_config import list_kube_config_contexts

    try:
        contexts, active = list_kube_config_contexts(kubeconfig or os.environ.get("KUBECONFIG"))  # type: ignore[no-untyped-call]  # the library has no types here
    except Exception:
        return "default"
    chosen = next((each for each in contexts if each["name"] == context), active)
    return str(chosen["context"].get("namespace") or "default")
