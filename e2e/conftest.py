"""A real kind cluster for the whole session: the one that runs, else one that is made and removed again."""

import os
from collections.abc import Iterator

import pytest

from e2e.probe import load_probe
from paceline_dev.errors import DevError
from paceline_dev.kind import record as records
from paceline_dev.kind.cluster import DEFAULT_NAME, Cluster
from paceline_dev.kind.delete import delete_cluster
from paceline_dev.kind.engine import Engine, find_engine
from paceline_dev.kind.ensure import ensure_cluster
from paceline_dev.kind.places import places
from paceline_dev.progress import Reporter, stderr_reporter
from support import ctrl_c

ctrl_c.hear()

WORKERS = 2


@pytest.fixture(scope="session")
def report() -> Reporter:
    """Says on stderr what the session waits for."""
    return stderr_reporter()


@pytest.fixture(scope="session")
def docker_engine() -> Engine:
    """The machine's own, or ours in a closed network."""
    try:
        return find_engine(stderr_reporter())
    except DevError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def kind_cluster(report: Reporter) -> Iterator[Cluster]:
    """`PACELINE_E2E_CLUSTER`, or `paceline`; with `PACELINE_E2E_KEEP` one that was made here stays."""
    name = os.environ.get("PACELINE_E2E_CLUSTER", DEFAULT_NAME)
    known = records.read(places(), name)
    yield ensure_cluster(find_engine(report), name, known.workers if known else WORKERS, report)
    if known is None and "PACELINE_E2E_KEEP" not in os.environ:
        delete_cluster(name, report)


@pytest.fixture(scope="session")
def cluster(kind_cluster: Cluster) -> Cluster:
    """The same; the longer name is the one by which tests against a real kind are counted."""
    return kind_cluster


@pytest.fixture(scope="session")
def probe(cluster: Cluster, report: Reporter, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image whose pods serve and knock, on every node."""
    return load_probe(cluster, tmp_path_factory.mktemp("probe"), report)


@pytest.fixture(scope="session")
def web(cluster: Cluster, probe: str) -> Iterator[str]:
    """A namespace with a Service `web` over three pods that answer with their names."""
    namespace = f"e2e-{os.getpid()}"
    cluster.kubectl("create", "namespace", namespace)
    run = ("-n", namespace)
    cluster.kubectl(*run, "create", "deployment", "web", f"--image={probe}", "--replicas=3", "--", "/probe", "serve")
    cluster.kubectl(*run, "expose", "deployment", "web", "--port=80", "--target-port=8080")
    cluster.kubectl(*run, "rollout", "status", "deployment/web", "--timeout=240s")
    yield namespace
    cluster.kubectl("delete", "namespace", namespace, "--wait=false")
