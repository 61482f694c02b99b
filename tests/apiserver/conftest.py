"""A real control plane for the whole run, and a namespace for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from paceline_dev import crds as generator
from paceline_dev.audit import AuditLog
from paceline_dev.kubectl import Kubectl
from support.plane import admin, own_namespace, shared_plane
from support.shared import shared


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a running control plane, shared by all tests of the run."""
    return shared_plane(tmp_path_factory, "control-plane")


@pytest.fixture(scope="session")
def kubectl(control_plane: Path) -> Kubectl:
    """kubectl as the cluster's administrator."""
    return admin(control_plane)


@pytest.fixture(scope="session")
def audit(control_plane: Path) -> AuditLog:
    """Every write that the API server has answered."""
    return AuditLog(control_plane / "audit.log")


@pytest.fixture(scope="session")
def crds(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of our CRDs, made from the models and installed as a user would."""

    def install(_: int) -> tuple[object, dict[str, str]]:
        folder = tmp_path_factory.mktemp("crds")
        generator.write(folder)
        kubectl.run("apply", "-f", str(folder))
        kubectl.run("wait", "crd", "--all", "--for=condition=Established", "--timeout=30s")
        return None, {"names": ",".join(kubectl.run("get", "crd", "-o", "name").stdout.split())}

    return shared(tmp_path_factory, "crds", install)["names"].split(",")


@pytest.fixture
def namespace(kubectl: Kubectl) -> Iterator[str]:
    """A namespace of the test's own, with its default service account."""
    with own_namespace(kubectl) as name:
        yield name
