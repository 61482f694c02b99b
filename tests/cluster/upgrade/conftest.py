"""A control plane and a node for each story: kinds and operators belong to a whole cluster."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster.operator.site import PROGRAMS, Site, ended, shop
from cluster.upgrade.stage import Stage
from paceline.database import Database
from paceline.queue import Queue
from paceline.testing import PostgresServer
from paceline_dev.binaries import find_binaries
from paceline_dev.control_plane import NODE_KUBECONFIG, ControlPlane
from paceline_dev.images.recipe import OPERATOR, default_tag
from paceline_dev.kind.install import SYSTEM
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import Api
from paceline_dev.node.images import PATH, Image
from paceline_dev.node.node import LocalNode
from paceline_dev.node.node_object import NodeSpec
from paceline_dev.progress import PlainReporter, stderr_reporter
from paceline_dev.releases import RELEASES, source_tree
from paceline_operator.handlers.settings import DEFAULT_INSTALL
from support.pg import one_server
from support.released import Release, unpacked

# all pods of this machine share its ports, so each listens on its own address
OPERATE = """\
export PACELINE_OPERATOR_LISTEN="$PACELINE_POD_IP:8081"
[ -z "$PACELINE_EXTERNAL_METRICS" ] || export PACELINE_EXTERNAL_METRICS="$PACELINE_POD_IP:6443"
exec "$PYTHON" -m paceline_cli "$@"
"""


class InstalledSite(Site):
    """With operators that look after the whole cluster, in a namespace of their own."""

    @property
    def install(self) -> str:
        return DEFAULT_INSTALL

    @property
    def operator_namespace(self) -> str:
        return SYSTEM

    def log(self) -> str:
        """How they are: what they have said is served by the loop that waits for us."""
        return self.kubectl.run("-n", SYSTEM, "get", "pods", "-o", "wide", check=False).stdout


@dataclass
class LocalStage(Stage):
    """Operators and runners are processes of this machine, with the rights that their manifests give them."""

    access: Path

    def image(self, version: str) -> str:
        return f"shop:{version}"

    def as_pods_see(self, url: str) -> str:
        return url

    async def trust(self) -> None:
        await trust(self.site.kubectl, self.access)


async def trust(kubectl: Kubectl, access: Path) -> None:
    """The node mounts no token: hand one out by a file."""
    await asyncio.to_thread(_hand_out, kubectl, access)


def _hand_out(kubectl: Kubectl, access: Path) -> None:
    account = ("-n", SYSTEM, "create", "serviceaccount", "paceline-operator")
    for words in (("create", "namespace", SYSTEM), account):
        kubectl.run(*words, check=False)  # one that is there stays
    token = kubectl.run("-n", SYSTEM, "create", "token", "paceline-operator", "--duration=2h").stdout.strip()
    config = json.loads(kubectl.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    access.write_text(json.dumps(config))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """One server is enough here."""
    return one_server(tmp_path_factory)


@pytest.fixture(params=[*RELEASES][-1:])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The last version that was released: none is to be skipped."""
    return unpacked(tmp_path_factory, request.param)


@pytest.fixture
async def stage(release: Release, postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Stage]:
    """A cluster without Paceline, and an empty database."""
    with ControlPlane.start(find_binaries(stderr_reporter())) as plane:
        plane.kubectl.run("wait", "serviceaccount/default", "--for=create", "--timeout=60s")
        access = tmp_path / "operator.kubeconfig"
        images = _images(release, tmp_path, access)
        async with (
            await Api.connect(plane.kubeconfig) as api,
            LocalNode(plane.folder / NODE_KUBECONFIG, NodeSpec("local", cpu="100", memory="100Gi"), images=images,
                      renew=1.0) as node,
            postgres.database() as url,
            await Database.open(url) as database,
        ):  # fmt: skip
            queue = Queue(database, "builds")
            site = InstalledSite(api, plane.kubectl, plane.kubeconfig, "default", node, queue, url, tmp_path)
            await site.secret()
            yield LocalStage(site, release, source_tree(release.version, PlainReporter()), access)
            ended(site.laptops)


def _images(release: Release, scratch: Path, access: Path) -> dict[str, Image]:
    """Operator and runner of a release and of today."""
    today = shop(scratch)
    old = {**today.env, "PYTHONPATH": os.pathsep.join((str(release.folder), today.env["PYTHONPATH"]))}
    return {
        f"shop:{default_tag()}": today,
        f"shop:{release.version}": Image(entrypoint=tuple(release.command("run")), env=old),
        f"{OPERATOR.name}:{default_tag()}": operator_image(access),
        f"{OPERATOR.name}:{release.version}": operator_image(access, PYTHONPATH=str(release.folder)),
    }


def operator_image(access: Path, **env: str) -> Image:
    """An operator that reaches the API server by that file."""
    return Image(
        entrypoint=("sh", "-c", OPERATE, "paceline"),
        env={"PATH": f"{PROGRAMS}:{PATH}", "PYTHON": sys.executable, "KUBECONFIG": str(access),
             "PACELINE_LEASE_NAMESPACE": SYSTEM, **env},
    )  # fmt: skip
