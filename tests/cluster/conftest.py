"""A real control plane that notices a silent node soon, shared by the run; a namespace and a node for each test."""

import contextlib
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cluster.local import LocalPlace, StartNode, local_node
from cluster.place import Place
from paceline_dev.audit import AuditLog
from paceline_dev.control_plane import NODE_KUBECONFIG
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import MERGE, AnswerError, Api
from paceline_dev.node.node import LocalNode
from support.plane import admin, shared_plane

NODE_GRACE = 10
"""Seconds until a silent node is called lost: a tenth is what a busy machine may delay a renewal by."""


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a running control plane. Not that of tests/apiserver: there no node may take a pod."""
    return shared_plane(tmp_path_factory, "cluster-plane", NODE_GRACE)


@pytest.fixture(scope="session")
def kubectl(control_plane: Path) -> Kubectl:
    return admin(control_plane)


@pytest.fixture(scope="session")
def audit(control_plane: Path) -> AuditLog:
    return AuditLog(control_plane / "audit.log")


@pytest.fixture
async def api(control_plane: Path) -> AsyncIterator[Api]:
    async with await Api.connect(control_plane / "kubeconfig") as found:
        yield found


@pytest.fixture
async def namespace(api: Api) -> AsyncIterator[str]:
    name = f"t-{secrets.token_hex(4)}"
    await api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    with contextlib.suppress(AnswerError):  # its controller may be quicker
        await api.post(f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})
    yield name
    await _let_go(api, name)
    with contextlib.suppress(AnswerError):  # a test may have done it
        await api.delete(f"/api/v1/namespaces/{name}")


async def _let_go(api: Api, namespace: str) -> None:
    """Nobody is left who would drain its groups or end its pods, and a namespace that cannot go is tried for ever.

    44 of those had the API server answer 170,000 requests in 17 minutes: two fifths of the CPU of a whole run.
    """
    groups = f"/apis/paceline.dev/v1alpha1/namespaces/{namespace}/runnergroups"
    with contextlib.suppress(AnswerError):  # this control plane may not know our kinds
        for each in (await api.get(groups))["items"]:
            await api.patch(f"{groups}/{each['metadata']['name']}", {"metadata": {"finalizers": None}}, MERGE)
    with contextlib.suppress(AnswerError):
        await api.delete(f"/api/v1/namespaces/{namespace}/pods", {"gracePeriodSeconds": 0})


@pytest.fixture
def start_node(control_plane: Path) -> StartNode:
    """Makes nodes; each takes only the pods that ask for it by name."""
    return local_node(control_plane / NODE_KUBECONFIG)


@pytest.fixture
async def node(start_node: StartNode) -> AsyncIterator[LocalNode]:
    async with start_node() as found:
        yield found


@pytest.fixture
def place(api: Api, kubectl: Kubectl, namespace: str, node: LocalNode) -> Place:
    """Where the stories take place."""
    return LocalPlace(api, kubectl, namespace, node.name, node)
