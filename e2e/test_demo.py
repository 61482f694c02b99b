"""`make demo CLUSTER=…` on a kind cluster: the same promises as on this machine, and a cluster that is as it was."""

import os
import signal

import pytest

from cluster.demo.process import demo, lines_until, require_figures
from paceline_dev.demo.kind import NAMESPACE
from paceline_dev.demo.story import STEPS
from paceline_dev.kind.cluster import Cluster

pytestmark = pytest.mark.timeout(600)


def is_there(cluster: Cluster) -> bool:
    return cluster.kubectl("get", "namespace", NAMESPACE, check=False).returncode == 0


def test_one_that_was_killed_is_cleared_away_by_the_next_whose_figures_are_right(cluster: Cluster) -> None:
    with demo("--cluster", cluster.name) as killed:
        lines_until(killed, "== 2/")
    assert is_there(cluster)
    with demo("--cluster", cluster.name, "--rate", "12") as process:
        lines_until(process, f"{len(STEPS)}/{len(STEPS)} ")
        out, _ = process.communicate(timeout=300)
        assert process.returncode == 0, out
    require_figures(out)
    assert f"make cluster-delete CLUSTER={cluster.name}" in out
    assert not is_there(cluster)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_one_that_is_interrupted_takes_its_namespace_with_it(cluster: Cluster, number: signal.Signals) -> None:
    with demo("--cluster", cluster.name) as process:
        lines_until(process, "== 2/")
        os.kill(process.pid, number)
        out, _ = process.communicate(timeout=300)
        assert (process.returncode, f"interrupted: cluster {cluster.name} stays" in out) == (128 + number, True), out
    assert not is_there(cluster)
