"""Stories inside the cluster's network: pytest-kind's cluster with our programs, Paceline installed, and a database."""

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from pytest_kind.cluster import KindCluster

from cluster.operator.gateways import Gateways
from cluster.operator.site import ended
from cluster.place import Place
from e2e.inside.collect import collect
from e2e.inside.database import deploy
from e2e.inside.gateways import DeployedGateways
from e2e.inside.places import KindPlace, KindSite
from e2e.inside.stages import KindStage
from paceline.database import Database
from paceline.migrate import migrate
from paceline.queue import Queue
from paceline.testing import PostgresServer
from paceline_dev.cache import cache_root
from paceline_dev.images.recipe import STORIES
from paceline_dev.kind.install import install
from paceline_dev.kind.postgres import reachable_postgres
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import AnswerError, Api
from paceline_dev.progress import PlainReporter
from paceline_dev.releases import RELEASES, NoHistoryError, source_tree
from support.pg import logins
from support.released import Release, unpacked

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def kind_cluster(request: pytest.FixtureRequest, monkeypatch_session: pytest.MonkeyPatch) -> KindCluster:
    """The cluster that runs, by pytest-kind, with our kind and kubectl: nothing is downloaded, nothing deleted."""
    option = request.config.getoption
    monkeypatch_session.chdir(cache_root() / "kind")  # it makes a folder where it is
    cluster = KindCluster(
        option("cluster_name"), Path(option("kubeconfig")), kind_path=Path(option("kind_bin")),
        kubectl_path=Path(option("kind_kubectl_bin")),
    )  # fmt: skip
    cluster.create()
    monkeypatch_session.chdir(REPOSITORY)
    return cluster


@pytest.fixture(scope="session")
def monkeypatch_session() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="session")
def kubectl(kind_cluster: KindCluster) -> Kubectl:
    return Kubectl(kind_cluster.kubectl_path, kind_cluster.kubeconfig_path)


@pytest.fixture
async def api(kind_cluster: KindCluster) -> AsyncIterator[Api]:
    async with await Api.connect(kind_cluster.kubeconfig_path) as found:
        yield found


@pytest.fixture
async def namespace(api: Api, kubectl: Kubectl, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    name = f"e2e-{secrets.token_hex(4)}"
    await api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    if request.node.stash.get(FAILED, False):
        collect(kubectl, name, REPOSITORY / "build" / "e2e" / request.node.name)
    with contextlib.suppress(AnswerError):
        await api.delete(f"/api/v1/namespaces/{name}")


FAILED: pytest.StashKey[bool] = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remember a failure, so that what there is to see is kept before it goes."""
    report = yield
    if report.failed:  # type: ignore[attr-defined]  # a TestReport
        item.stash[FAILED] = True
    return report


@pytest.fixture
def place(api: Api, kubectl: Kubectl, namespace: str) -> Place:
    """Where the pod stories take place: on a kubelet."""
    return KindPlace(api, kubectl, namespace)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """On the machine that the nodes run on, where pods reach it."""
    with reachable_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def installed(kubectl: Kubectl) -> None:
    """Paceline, as its install page says."""
    install(kubectl)


class Sited(Protocol):
    """Makes sites."""

    def __call__(
        self, namespace: str, url: str, pods_url: str = "", pool: str = "builds"
    ) -> contextlib.AbstractAsyncContextManager[KindSite]:
        """In a namespace that is there, on a database that has our schema or will have it."""


@pytest.fixture
def sited(request: pytest.FixtureRequest, api: Api, kubectl: Kubectl, tmp_path: Path) -> Sited:
    """What they waited for is told with the story."""

    @contextlib.asynccontextmanager
    async def make(namespace: str, url: str, pods_url: str = "", pool: str = "builds") -> AsyncIterator[KindSite]:
        async with await Database.open(url) as database:
            site = KindSite(api, kubectl, namespace, Queue(database, pool), url, tmp_path)
            await site.secret(url=pods_url or outside(url))
            try:
                yield site
            finally:
                ended(site.laptops)
                request.node.user_properties.extend(site.steps)
            await site.run("delete", "rgrp", "--all", "--timeout=60s")

    return make


def outside(url: str) -> str:
    """The address of a database of this machine, in a pod."""
    return url.replace("127.0.0.1", os.environ["PACELINE_E2E_HOST"])


@pytest.fixture
async def site(sited: Sited, namespace: str, postgres: PostgresServer, installed: None) -> AsyncIterator[KindSite]:
    """A namespace with a database, in a cluster that has Paceline."""
    async with postgres.database() as url:
        await migrate(url)
        async with sited(namespace, url) as made:
            yield made


@pytest.fixture
async def neighbour(sited: Sited, api: Api, site: KindSite) -> AsyncIterator[KindSite]:
    """Another namespace, with another pool of the same database."""
    name = f"{site.namespace}-b"
    await api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    async with sited(name, site.url, pool="tests") as made:
        yield made
    await api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
async def own_database(sited: Sited, kubectl: Kubectl, namespace: str, installed: None) -> AsyncIterator[KindSite]:
    """A namespace with a database in a pod of its own."""
    url, pods_url = await deploy(kubectl, namespace, os.environ["PACELINE_E2E_BASE"])
    await migrate(url)
    async with sited(namespace, url, pods_url) as made:
        yield made


@pytest.fixture(params=[*RELEASES][-1:])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The last version that was released: none is to be skipped."""
    return unpacked(tmp_path_factory, request.param)


@pytest.fixture
async def stage(
    sited: Sited, kubectl: Kubectl, namespace: str, postgres: PostgresServer, release: Release
) -> AsyncIterator[KindStage]:
    """The cluster without Paceline, and an empty database; afterwards Paceline is there again."""
    async with postgres.database() as url, sited(namespace, url) as site:
        made = KindStage(site, release, source_tree(release.version, PlainReporter()))
        await made.clear()
        try:
            yield made
        finally:
            await asyncio.to_thread(install, kubectl)


@pytest.fixture(params=RELEASES)
def released_image(request: pytest.FixtureRequest) -> str:
    """The handlers of the stories with the runner of a release, which is on the nodes."""
    try:
        source_tree(request.param, PlainReporter())
    except NoHistoryError as error:
        pytest.skip(str(error))
    return f"{STORIES.name}:{request.param}"


@pytest.fixture
async def gateway(site: KindSite) -> AsyncIterator[Gateways]:
    """Two of them, in the site's namespace."""
    deployed = DeployedGateways(site)
    async with logins(site.queue.database, site.url) as login_url:
        url = await login_url("gateway")
        await deployed.apply(outside(url))
        yield deployed
        await site.run("delete", "deployment", "paceline-gateway", "--cascade=foreground", "--timeout=60s")


@pytest.fixture
def operated(site: KindSite) -> KindSite:
    """The same: here an operator always runs."""
    return site
