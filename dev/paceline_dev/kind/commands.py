"""`python -m paceline_dev engine`, `cluster` and `cluster-delete`."""

import sys

from paceline_dev.kind.cluster import WRAPPER, ensure_cluster
from paceline_dev.kind.delete import delete_cluster
from paceline_dev.kind.engine import find_engine
from paceline_dev.kind.record import check_name
from paceline_dev.progress import stderr_reporter


def serve_engine() -> None:
    """Find or start an engine, and print how to reach it."""
    _print(find_engine(stderr_reporter()).exports())


def make_cluster(name: str, workers: int) -> None:
    """Make or reuse a cluster, and print how to reach it."""
    check_name(name)
    report = stderr_reporter()
    cluster = ensure_cluster(find_engine(report), name, workers, report)
    _print(cluster.exports())
    if cluster.engine.local:
        report.line(f"the cluster is in a closed network; enter it with {cluster.bin / WRAPPER} kubectl get pods -A")


def remove_cluster(name: str) -> None:
    """Remove a cluster and what belongs to it."""
    delete_cluster(name, stderr_reporter())


def _print(lines: list[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
