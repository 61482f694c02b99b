"""A real control plane for all processes of a test run, and what a test wants of it."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paceline_dev.binaries import find_binaries
from paceline_dev.control_plane import ControlPlane
from paceline_dev.kubectl import Kubectl
from paceline_dev.progress import stderr_reporter
from support.shared import shared


def shared_plane(factory: pytest.TempPathFactory, name: str, node_grace: int | None = None) -> Path:
    """The folder of the running control plane of that name."""
    binaries = find_binaries(stderr_reporter())

    def start(owner: int) -> tuple[object, dict[str, str]]:
        plane = ControlPlane.start(binaries, owner=owner, node_grace=node_grace)
        return plane, {"folder": str(plane.folder)}

    return Path(shared(factory, name, start)["folder"])


def admin(plane: Path) -> Kubectl:
    """kubectl as the cluster's administrator."""
    return Kubectl(find_binaries(stderr_reporter()).kubectl, plane / "kubeconfig")


@contextmanager
def own_namespace(kubectl: Kubectl) -> Iterator[str]:
    """A namespace of the test's own, with its default service account."""
    name = f"t-{secrets.token_hex(4)}"
    kubectl.run("create", "namespace", name)
    kubectl.run("wait", "serviceaccount/default", "-n", name, "--for=create", "--timeout=30s")
    yield name
    kubectl.run("delete", "namespace", name, "--wait=false")
