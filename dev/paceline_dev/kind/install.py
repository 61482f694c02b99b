"""Paceline in a kind cluster, as its install page says, with the image that was built last."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from paceline_dev import REPOSITORY
from paceline_dev.images.recipe import OPERATOR, default_tag
from paceline_dev.kind.loaded import BUILD
from paceline_dev.kubectl import Kubectl

SYSTEM = "paceline-system"
DEPLOYMENT = "deployment/paceline-operator"
OPERATOR_PODS = "app.kubernetes.io/component=operator"


def install(kubectl: Kubectl, folder: str = "cluster-wide") -> None:
    """Apply it and wait; operators of an older build of the same tag are replaced. `docker` must be on the PATH."""
    inspect = ["docker", "image", "inspect", "--format", "{{.Id}}", f"{OPERATOR.name}:{default_tag()}"]
    build = subprocess.run(inspect, capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="paceline-install-") as around:
        (Path(around) / "kustomization.yaml").write_text(json.dumps(overlay(Path(around), folder, build)))
        kubectl.run("apply", "-k", around)
    kubectl.run("-n", SYSTEM, "rollout", "status", DEPLOYMENT, "--timeout=180s")


def overlay(around: Path, folder: str, build: str) -> dict[str, object]:
    """A kustomization around one of ours; the annotation makes the Deployment roll when the image is another one."""
    mark = {"op": "add", "path": "/spec/template/metadata/annotations", "value": {BUILD: build}}
    return {
        "resources": [os.path.relpath(REPOSITORY / "manifests" / folder, around)],
        "patches": [{"target": {"kind": "Deployment"}, "patch": json.dumps([mark])}],
    }
