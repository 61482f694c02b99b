"""Every sample, on a real API server: it is taken as it stands, and its pods may run where the rules are strict."""

import json
from typing import Any

import pytest
import yaml

from paceline_dev import REPOSITORY
from paceline_dev.kubectl import Kubectl
from paceline_dev.manifests import PARSED_ONLY
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.objects import build_pod

pytestmark = pytest.mark.usefixtures("crds")

SAMPLES = {
    path.stem: [
        each
        for each in yaml.safe_load_all(path.read_text())
        if f"{each['apiVersion']} {each['kind']}" not in PARSED_ONLY  # the API server does not know them either
    ]
    for path in sorted((REPOSITORY / "manifests" / "samples").glob("*.yaml"))
    if path.name != "kustomization.yaml"
}
GROUPS = [
    pytest.param(document, id=document["metadata"]["name"])
    for documents in SAMPLES.values()
    for document in documents
    if document["kind"] == "RunnerGroup"
]
STRICT = "pod-security.kubernetes.io/enforce=restricted"


def told(kubectl: Kubectl, namespace: str, *documents: dict[str, Any]) -> str:
    """What the API server has against objects; nothing if it takes them."""
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
    done = kubectl.run("create", "-n", namespace, "-f", "-", "--dry-run=server", stdin=listed, check=False)
    return done.stderr


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_is_accepted_without_a_warning(kubectl: Kubectl, namespace: str, sample: str) -> None:
    assert SAMPLES[sample]
    assert told(kubectl, namespace, *SAMPLES[sample]) == ""


@pytest.mark.parametrize("document", GROUPS)
def test_its_pods_may_run_in_a_restricted_namespace(kubectl: Kubectl, namespace: str, document: dict[str, Any]) -> None:
    kubectl.run("label", "namespace", namespace, STRICT)
    meta = {**document["metadata"], "namespace": namespace, "uid": "u"}
    group = RunnerGroup.model_validate({**document, "metadata": meta})
    assert told(kubectl, namespace, build_pod(group, f"{group.metadata.name}-x2k4b", "u", 1, "here")) == ""
