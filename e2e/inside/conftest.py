"""Stories inside the cluster's network: pytest-kind's cluster with our programs, Paceline installed, and a database."""

import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from pytest_kind.cluster import KindCluster

from cluster.operator.gateways import Gateways
from cluster.operator.site import ended
from cluster.place import Place
from e2e.inside.collect import collect
from e2e.inside.gateways import DeployedGateways
from e2e.inside.places import KindPlace, KindSite
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


@pytest.fixture
async def site(
    api: Api, kubectl: Kubectl, namespace: str, postgres: PostgresServer, installed: None, tmp_path: Path
) -> AsyncIterator[KindSite]:
    """A namespace with a database, in a cluster that has Paceline."""
    async with postgres.database() as url:
        await migrate(url)
        async with await Database.open(url) as database:
            made = KindSite(api, kubectl, namespace, Queue(database, "builds"), url, tmp_path)
            await made.secret(url=url.replace("127.0.0.1", os.environ["PACELINE_E2E_HOST"]))
            try:
                yield made
            finally:
                ended(made.laptops)
            await made.run("delete", "rgrp", "--all", "--timeout=60s")


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
        await deployed.apply(url.replace("127.0.0.1", os.environ["PACELINE_E2E_HOST"]))
        yield deployed
        await site.run("delete", "deployment", "paceline-gateway", "--cascade=foreground", "--timeout=60s")


@pytest.fixture
def operated(site: KindSite) -> KindSite:
    """The same: here an operator always runs."""
    return site
