"""The other ways to install, on a real API server: what is rendered is accepted, and its pods would be too."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from paceline_dev import REPOSITORY
from paceline_dev.helm.program import CHARTS, RELEASE, Helm, find_helm
from paceline_dev.kubectl import Kubectl
from paceline_dev.progress import stderr_reporter
from support.install import overlay

pytestmark = [pytest.mark.usefixtures("crds"), pytest.mark.timeout(300)]

WARN = "pod-security.kubernetes.io/warn=restricted"
"""Deployments are never refused for the pods that they would make; with this they are talked about."""
VALUES = [f"--values={CHARTS / 'paceline' / 'values' / 'namespaced.yaml'}", "--set=gateway.enabled=true"]


@pytest.fixture
def watched(kubectl: Kubectl, namespace: str) -> str:
    kubectl.run("label", "namespace", namespace, WARN)
    return namespace


@pytest.fixture
def helm(control_plane: Path) -> Helm:
    return Helm(find_helm(stderr_reporter()), control_plane / "kubeconfig")


def test_a_pod_that_may_not_run_would_be_talked_about(kubectl: Kubectl, watched: str) -> None:
    loose: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x", "image": "i"}]}},
        },
    }
    until, said = time.monotonic() + 60, ""
    while not said and time.monotonic() < until:  # what checks it hears of a label a moment later
        said = kubectl.run("apply", "-n", watched, "-f", "-", "--dry-run=server", stdin=json.dumps(loose)).stderr
    assert "would violate PodSecurity" in said


@pytest.mark.parametrize("install", ["ha", "dev", "cluster-wide"])
def test_a_kustomization_is_accepted_without_a_warning(
    kubectl: Kubectl, watched: str, tmp_path: Path, install: str
) -> None:
    done = kubectl.run("apply", "-k", overlay(tmp_path, install, watched), "--dry-run=server")
    assert "deployment.apps/paceline-operator created (server dry run)" in done.stdout
    assert "would violate" not in done.stderr


def test_the_one_file_is_accepted_without_a_warning(kubectl: Kubectl, watched: str) -> None:
    text = (REPOSITORY / "manifests" / "install.yaml").read_text().replace("paceline-system", watched)
    done = kubectl.run("apply", "-f", "-", "--dry-run=server", stdin=text)
    assert "deployment.apps/paceline-operator created (server dry run)" in done.stdout
    assert "would violate" not in done.stderr


def test_a_release_comes_is_upgraded_and_goes(kubectl: Kubectl, helm: Helm, watched: str) -> None:
    chart = str(CHARTS / "paceline")
    done = helm.run("install", RELEASE, chart, "--namespace", watched, *VALUES)
    assert "would violate" not in done.stderr
    for part in ("operator", "gateway"):
        pod = f"--selector=app.kubernetes.io/component={part}"
        kubectl.run("wait", "pod", "-n", watched, pod, "--for=create", "--timeout=30s")
    helm.run("upgrade", RELEASE, chart, "--namespace", watched, *VALUES, "--set=operator.replicas=3")
    assert kubectl.json("get", "deployment", "paceline-operator", "-n", watched)["spec"]["replicas"] == 3
    helm.run("uninstall", RELEASE, "--namespace", watched)
    left = kubectl.json("get", "deployment,service,role,rolebinding,networkpolicy", "-n", watched)["items"]
    assert [each["metadata"]["name"] for each in left] == []
