"""`make e2e`: images, a cluster, and the stories on it, those about the inside from within the cluster's network."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.images.base import find_base
from paceline_dev.images.build import build_images, build_postgres
from paceline_dev.images.recipe import EXAMPLES, OPERATOR, RUNNER, STORIES
from paceline_dev.kind import record as records
from paceline_dev.kind.bring_up import bring_up, load
from paceline_dev.kind.cluster import Cluster
from paceline_dev.kind.delete import delete_cluster
from paceline_dev.kind.engine import Engine, find_engine
from paceline_dev.kind.places import places
from paceline_dev.progress import Reporter, stderr_reporter
from paceline_dev.releases import RELEASES, NoHistoryError, source_tree

WORKERS = 2
SMOKE_OUTSIDE = ("e2e/test_containment.py",)
SMOKE_INSIDE = ("e2e/inside/test_smoke.py",)
PLUGINS = ("-p", "support.real", "-p", "pytest_kind.plugin", "-o", "timeout=300")
REAL_PARTS = "PACELINE_REAL_PARTS"
TIMES = ("-p", "support.times")
"""What the stories took is told at their end."""
NOTHING_CHOSEN = 5
"""Pytest's exit code; `-k drained` chooses on one side of the network only."""


def play(name: str, *, smoke: bool, keep: bool, arguments: Sequence[str]) -> None:
    """Bring everything up, run the tests, and leave nothing behind unless told to keep it."""
    report = stderr_reporter()
    engine = find_engine(report)
    known = records.read(places(), name)
    try:
        workers = known.workers if known else 0 if smoke else WORKERS
        cluster = bring_up(engine, name, workers, STORIES, report)
        load(cluster, [base := find_base(engine, report)], report)
        if not smoke:
            load(cluster, [*released_images(engine, report), *dev_images(engine, report)], report)
        outside = _run([], _outside(smoke=smoke), cluster, base, arguments, "outside")
        stories = [*TIMES, *_inside(smoke=smoke)]
        whole = not smoke and not arguments
        inside = _run(engine.inside([]), stories, cluster, base, arguments, "inside", whole=whole)
        if not outside and not inside:
            raise DevError(f"no test is chosen by {' '.join(arguments)}")
    finally:
        if known is None and not keep:
            delete_cluster(name, report)


def released_images(engine: Engine, report: Reporter) -> list[str]:
    """Of each release the operator, and the handlers of the stories with its runner, made from its own tree."""
    recipes, found = (OPERATOR, RUNNER, STORIES), []
    for version in RELEASES:
        try:
            tree = source_tree(version, report)
        except NoHistoryError as error:
            report.line(f"without the stories of upgrades: {error}")
            continue
        operator, _, stories = build_images(engine, report, recipes=recipes, root=tree)
        found += [operator.reference, stories.reference]
    return found


def dev_images(engine: Engine, report: Reporter) -> list[str]:
    """What `manifests/dev` has beside the operator: the example handlers, and a PostgreSQL."""
    (examples,) = build_images(engine, report, recipes=(EXAMPLES,))
    return [examples.reference, build_postgres(engine, report)]


def _outside(*, smoke: bool) -> Sequence[str]:
    return SMOKE_OUTSIDE if smoke else ("e2e", "--ignore=e2e/inside")


def _inside(*, smoke: bool) -> Sequence[str]:
    return SMOKE_INSIDE if smoke else ("e2e/inside",)


def _run(
    prefix: Sequence[str], tests: Sequence[str], cluster: Cluster, base: str, arguments: Sequence[str], where: str,
    *, whole: bool = False,
) -> bool:  # fmt: skip
    """Pytest with pytest-kind, which has nothing to download: it finds our cluster and our programs.

    Returns whether the arguments chose any test there.
    """
    engine = cluster.engine
    options = [
        "--cluster-name", cluster.name, "--keep-cluster", "--kubeconfig", str(cluster.kubeconfig),
        "--kind-bin", str(engine.kind_program), "--kind-kubectl-bin", str(cluster.kubectl_program),
    ]  # fmt: skip
    environment = {
        **engine.client_environment(),
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "tests")]),
        "PACELINE_E2E_CLUSTER": cluster.name,
        "PACELINE_E2E_HOST": cluster.machine,
        "PACELINE_E2E_BASE": base,
        "PACELINE_E2E_RESULTS": str(REPOSITORY / ("bench/results" if whole else "build/e2e")),
    }
    if counts := os.environ.get(REAL_PARTS):
        environment[REAL_PARTS] = str(Path(counts).with_suffix(f".{where}.json"))
    command = [*prefix, sys.executable, "-m", "pytest", *PLUGINS, *options, *tests, *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, check=False)
    if done.returncode not in (0, NOTHING_CHOSEN):
        raise DevError(f"the tests {where} the cluster's network failed (above)")
    return done.returncode == 0
