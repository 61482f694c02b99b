"""The operator as a process, a database and a node for each test."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cluster.local import StartNode
from cluster.operator.gateways import Gateways, OneGateway
from cluster.operator.site import Site, ended, shop
from paceline.database import Database
from paceline.queue import Queue
from paceline.testing import PostgresServer
from paceline.testing.scratch import free_ports
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import Api
from paceline_dev.node.images import Image
from paceline_dev.releases import RELEASES
from support.pg import logins, migrated_template, one_server
from support.released import Release, unpacked


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """One server is enough here: tests/postgres proves the promises on each version."""
    return one_server(tmp_path_factory)


@pytest.fixture(scope="session")
def template(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database with our schema."""
    return migrated_template(tmp_path_factory, postgres)


@pytest.fixture
async def migrated(postgres: PostgresServer, template: str) -> AsyncIterator[str]:
    """The URL of a fresh database with our schema."""
    async with postgres.database(template) as url:
        yield url


@pytest.fixture
async def queue(migrated: str) -> AsyncIterator[Queue]:
    """The pool `builds` in it."""
    async with await Database.open(migrated) as database:
        yield Queue(database, "builds")


@pytest.fixture(scope="session")
def crds(kubectl: Kubectl) -> None:
    """The API server knows our kinds."""
    kubectl.teach()


@pytest.fixture
async def site(
    crds: None, api: Api, kubectl: Kubectl, control_plane: Path, namespace: str, start_node: StartNode,
    queue: Queue, migrated: str, tmp_path: Path,
) -> AsyncIterator[Site]:  # fmt: skip
    async with start_node() as node:
        node.add_image("shop", shop(tmp_path))
        made = Site(api, kubectl, control_plane / "kubeconfig", namespace, node, queue, migrated, tmp_path)
        made.port, made.second_port = free_ports(2)
        await made.secret()
        try:
            yield made
        finally:
            ended([*made.processes, *made.laptops])


@pytest.fixture
async def operated(site: Site) -> Site:
    """With an operator that runs."""
    site.start_operator()
    return site


@pytest.fixture
async def gateway(site: Site) -> AsyncIterator[Gateways]:
    """One that serves the site's database."""
    async with logins(site.queue.database, site.url) as login_url:
        one = OneGateway(await login_url("gateway"), free_ports(1)[0], site.scratch)
        await one.ready()
        yield one
        await one.stop()


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Each version that was released."""
    return unpacked(tmp_path_factory, request.param)


@pytest.fixture
def released_image(site: Site, release: Release) -> str:
    """The same handlers as of today, with the runner of a release."""
    today = shop(site.scratch)
    found = {**today.env, "PYTHONPATH": os.pathsep.join((str(release.folder), today.env["PYTHONPATH"]))}
    site.node.add_image("shop-released", Image(entrypoint=tuple(release.command("run")), env=found))
    return "shop-released"
