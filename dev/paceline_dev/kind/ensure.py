"""The cluster of a name: used as it is if it works, made anew if it does not or was never finished."""

from paceline_dev.binaries import find_binaries
from paceline_dev.cache import locked
from paceline_dev.errors import DevError
from paceline_dev.kind import daemons
from paceline_dev.kind import record as records
from paceline_dev.kind.cluster import Cluster
from paceline_dev.kind.create import create_cluster, prepare, remove_cluster
from paceline_dev.kind.engine import Engine
from paceline_dev.kind.local_engine import require_closed
from paceline_dev.kind.places import Places, places
from paceline_dev.kind.record import Record
from paceline_dev.progress import Reporter


def ensure_cluster(engine: Engine, name: str, workers: int, report: Reporter) -> Cluster:
    """The cluster of that name: as it is if it works, made anew if it does not or was never finished."""
    records.check_name(name)
    here = places()
    kubectl = find_binaries(report).kubectl
    cluster = Cluster(name, here.kubeconfig(name), engine, kubectl, records.folder(here, name) / "bin")
    with locked(here.lock, report.line):
        usable = _reusable(cluster, here, workers, report)
    if usable:
        report.line(f"cluster {name} runs already")
    else:
        image = prepare(engine, here, report)  # without the lock: it may take minutes, and others use the engine
    with locked(here.lock, report.line):
        if not usable and not _reusable(cluster, here, workers, report):
            create_cluster(cluster, here, workers, image, report)
        if engine.local:
            require_closed(here)
    return cluster


def _reusable(cluster: Cluster, here: Places, workers: int, report: Reporter) -> bool:
    """Whether it can be used as it is; remains of one that cannot are removed first."""
    known = records.read(here, cluster.name)
    daemons.stop_recorded(here.run / "kind.process", grace=0.0)  # we hold the lock: it is a dead run's
    exists = cluster.name in cluster.engine.kind("get", "clusters").stdout.split()
    if known is not None and known.local != cluster.engine.local:
        if known.ready and not known.local:
            raise DevError(
                f"cluster {cluster.name} was made on the machine's Docker, which is not the engine in use now: "
                f"start Docker, or choose another name with --name"
            )
        records.forget(here, cluster.name)
        known = None
    if exists and known is None:
        way = "make cluster-delete" if cluster.engine.local else f"kind delete cluster --name {cluster.name}"
        raise DevError(
            f"there is a kind cluster {cluster.name} that Paceline did not make: choose another name with --name, "
            f"or remove it with `{way}`"
        )
    if known is None:
        return False
    lack = _lack(cluster, known, exists)
    if not lack and known.workers != workers:
        raise DevError(
            f"cluster {cluster.name} has {known.workers + 1} node(s), not {workers + 1}: run `make cluster-delete` "
            "first, or choose another name with --name"
        )
    if lack:
        report.line(f"cluster {cluster.name} {lack}: removing what is left of it")
        remove_cluster(cluster, here)
    return not lack


def _lack(cluster: Cluster, known: Record, exists: bool) -> str:
    if not known.ready:
        return "was left half-made by a run that was killed"
    if not exists:
        return "is gone from its engine"
    if len(cluster.nodes) != known.workers + 1:
        return "has lost a node"
    answer = cluster.kubectl("get", "--raw", "/readyz", "--request-timeout=10s", check=False)
    return "" if answer.stdout.strip() == "ok" else "does not answer"
