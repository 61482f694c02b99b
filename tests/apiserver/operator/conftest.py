"""The adapter on the real API server, and the ways to stand in its way."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from apiserver.operator.between import Between, between
from apiserver.operator.people import kubeconfig
from paceline_operator.adapters.access import Kubeconfig
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.adapters.retry import Retries

QUICK = Retries(first=0.01, longest=0.05, total=2.0)
PATIENT = Retries(first=0.01, longest=0.05, total=40.0)
"""As quick to try again, for those who are to be answered: a busy API server may need its time."""


@pytest.fixture
async def cluster(control_plane: Path, crds: list[str]) -> AsyncIterator[KubernetesCluster]:
    """As the administrator, as it is in production."""
    async with KubernetesCluster(Kubeconfig(str(control_plane / "kubeconfig"))) as opened:
        yield opened


@pytest.fixture
async def middle(control_plane: Path, crds: list[str]) -> AsyncIterator[Between]:
    """A place between the adapter and the API server."""
    async with between(control_plane) as made:
        yield made


@pytest.fixture
async def watched(middle: Between, tmp_path: Path) -> AsyncIterator[KubernetesCluster]:
    """Through the middle, and quick to try again."""
    path = kubeconfig(tmp_path, server=middle.url)
    async with KubernetesCluster(Kubeconfig(str(path)), timeout=30.0, retries=PATIENT, page=2) as opened:
        yield opened


@pytest.fixture
async def hasty(middle: Between, tmp_path: Path) -> AsyncIterator[KubernetesCluster]:
    """Through the middle, and quick to give up."""
    path = kubeconfig(tmp_path, server=middle.url)
    async with KubernetesCluster(Kubeconfig(str(path)), timeout=1.0, retries=QUICK) as opened:
        yield opened


@pytest.fixture
async def patient(middle: Between, tmp_path: Path) -> AsyncIterator[KubernetesCluster]:
    """Through the middle, with all the time that a busy machine may need."""
    path = kubeconfig(tmp_path, server=middle.url)
    async with KubernetesCluster(Kubeconfig(str(path)), timeout=30.0) as opened:
        yield opened


@pytest.fixture
def address(control_plane: Path) -> str:
    """Where the API server listens."""
    said = json.loads((control_plane / "kubeconfig").read_text())["clusters"][0]["cluster"]["server"]
    assert isinstance(said, str)
    return said
