"""The demo: a real database and a real Kubernetes API in a few seconds, and our sample group on it."""

import sys
from pathlib import Path

from paceline.testing import PostgresServer
from paceline_dev import REPOSITORY
from paceline_dev.binaries import find_binaries
from paceline_dev.control_plane import ControlPlane
from paceline_dev.kubectl import Kubectl
from paceline_dev.progress import stderr_reporter

DATABASE = """\
apiVersion: v1
kind: Secret
metadata: {{name: paceline-db}}
stringData: {{url: {url}}}
"""


def play() -> None:
    """Bring everything up, apply the sample, show what a user would see, and leave nothing behind."""
    report = stderr_reporter()
    binaries = find_binaries(report)
    with report.task("starting PostgreSQL"):
        postgres = PostgresServer.start()
    with postgres:
        with report.task("starting etcd, API server, controller manager and scheduler"):
            control_plane = ControlPlane.start(binaries)
        with control_plane:
            _apply(control_plane.kubectl, postgres.url)


def _apply(kubectl: Kubectl, database_url: str) -> None:
    sample = REPOSITORY / "manifests" / "samples" / "runnergroup.yaml"
    _show(kubectl, "apply", "-f", str(REPOSITORY / "crds"))
    _show(kubectl, "wait", "crd", "--all", "--for=condition=Established", "--timeout=30s")
    _show(kubectl, "apply", "-f", "-", stdin=DATABASE.format(url=database_url))
    _show(kubectl, "apply", "-f", str(sample))
    _show(kubectl, "get", "rgrp", "-o", "wide")
    _show(kubectl, "scale", "rgrp", "builds", "--replicas=5")
    _show(kubectl, "get", "rgrp", "builds", "-o", 'jsonpath={.spec.replicas} runners wanted{"\\n"}')


def _show(kubectl: Kubectl, *args: str, stdin: str | None = None) -> None:
    """Print a command and its answer, with the repository's own paths as a user in it would type them."""
    words = [str(Path(word).relative_to(REPOSITORY)) if word.startswith(str(REPOSITORY)) else word for word in args]
    sys.stdout.write(f"\n$ kubectl {' '.join(words)}\n{kubectl.run(*args, stdin=stdin).stdout}")
    sys.stdout.flush()
