"""What there is to see when a story has failed, kept in build/e2e."""

from pathlib import Path

from paceline_dev.kind.install import OPERATOR_PODS, SYSTEM
from paceline_dev.kubectl import Kubectl


def collect(kubectl: Kubectl, namespace: str, folder: Path) -> None:
    """Objects, events and logs of a namespace and of the operator."""
    folder.mkdir(parents=True, exist_ok=True)
    own = ("-n", namespace)
    kinds = "runnergroups,runners,pods,poddisruptionbudgets,events"
    _keep(kubectl, folder / "objects.yaml", *own, "get", kinds, "-o", "yaml")
    _keep(kubectl, folder / "pods.txt", *own, "describe", "pods")
    _keep(kubectl, folder / "nodes.txt", "describe", "nodes")
    _keep(kubectl, folder / "system.txt", "get", "pods", "-A", "-o", "wide")
    whole = ("--tail=-1", "--prefix")
    _keep(kubectl, folder / "operator.log", "-n", SYSTEM, "logs", "-l", OPERATOR_PODS, *whole)
    _keep(kubectl, folder / "runners.log", *own, "logs", "-l", "paceline.dev/group", *whole)


def _keep(kubectl: Kubectl, file: Path, *words: str) -> None:
    done = kubectl.run(*words, check=False)
    file.write_text(done.stdout + done.stderr)
