"""Paceline in a kind cluster, as its install page says, with the image that was built last."""

import json
import subprocess

from paceline_dev import REPOSITORY
from paceline_dev.images.recipe import OPERATOR, default_tag
from paceline_dev.kubectl import Kubectl

SYSTEM = "paceline-system"
DEPLOYMENT = "deployment/paceline-operator"
OPERATOR_PODS = "app.kubernetes.io/component=operator"
BUILD = "dev.paceline/build"


def install(kubectl: Kubectl) -> None:
    """Apply it and wait; operators of an older build of the same tag are replaced. `docker` must be on the PATH."""
    kubectl.run("apply", "-k", str(REPOSITORY / "manifests" / "cluster-wide"))
    inspect = ["docker", "image", "inspect", "--format", "{{.Id}}", f"{OPERATOR.name}:{default_tag()}"]
    build = subprocess.run(inspect, capture_output=True, text=True, check=True).stdout.strip()
    patch = {"spec": {"template": {"metadata": {"annotations": {BUILD: build}}}}}
    kubectl.run("-n", SYSTEM, "patch", DEPLOYMENT, "--patch", json.dumps(patch))
    kubectl.run("-n", SYSTEM, "rollout", "status", DEPLOYMENT, "--timeout=180s")
