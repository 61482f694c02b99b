"""`python -m paceline_dev engine`, `cluster` and `cluster-delete`."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from paceline_dev.errors import DevError
from paceline_dev.kind.cluster import WRAPPER
from paceline_dev.kind.delete import delete_cluster
from paceline_dev.kind.engine import find_engine
from paceline_dev.kind.ensure import ensure_cluster
from paceline_dev.kind.places import places
from paceline_dev.kind.record import check_name
from paceline_dev.progress import stderr_reporter


def serve_engine() -> None:
    """Find or start an engine, and print how to reach it."""
    with told():
        _print(find_engine(stderr_reporter()).exports())


def make_cluster(name: str, workers: int) -> None:
    """Make or reuse a cluster, and print how to reach it."""
    check_name(name)
    report = stderr_reporter()
    with told():
        cluster = ensure_cluster(find_engine(report), name, workers, report)
    _print(cluster.exports())
    if cluster.engine.local:
        report.line(f"the cluster is in a closed network; enter it with {cluster.bin / WRAPPER} kubectl get pods -A")


def remove_cluster(name: str) -> None:
    """Remove a cluster and what belongs to it."""
    with told():
        delete_cluster(name, stderr_reporter())


@contextmanager
def told() -> Iterator[None]:
    """One line also for what only the system knows, as a disk that is full."""
    try:
        yield
    except OSError as error:
        where = error.filename or places().cache
        raise DevError(f"cannot use {where} ({error.strerror}): mend it, or point PACELINE_CACHE elsewhere") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip() if isinstance(error.stderr, str) else ""
        raise DevError(f"{error.cmd[0]} ended with {error.returncode} {said}".rstrip()) from error


def _print(lines: list[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
