"""Every pod that is shipped may run where the restricted standard is enforced, and nobody is warned of it."""

import json
import os
from pathlib import Path

import pytest
import yaml

from paceline_dev import REPOSITORY
from paceline_dev.kubectl import Kubectl
from support.charts import Json, kustomized

pytestmark = pytest.mark.usefixtures("crds")

MANIFESTS = REPOSITORY / "manifests"
COMPONENTS = ("migrate", "database-ca", "webhooks")
NOT_TOGETHER = (("dev", "migrate"), ("gateway", "webhooks"))
"""Where the Job is among it already, and where there is no operator."""
INSTALLS = sorted(
    path.parent.name
    for path in MANIFESTS.glob("*/kustomization.yaml")
    if path.parent.name not in (*COMPONENTS, "monitoring", "samples")  # no pods; test_samples.py has the last
)
MAKE_PODS = ("Deployment", "StatefulSet", "Job", "DaemonSet", "CronJob")
STRICT = [f"pod-security.kubernetes.io/{what}=restricted" for what in ("enforce", "warn", "audit")]


@pytest.fixture
def strict(kubectl: Kubectl, namespace: str) -> str:
    kubectl.run("label", "namespace", namespace, *STRICT)
    return namespace


def with_components(folder: Path, install: str) -> Path:
    """A user's own kustomization: one of ours, with all that can be added to it."""
    ours = {name: os.path.relpath(MANIFESTS / name, folder) for name in (install, *COMPONENTS)}
    more = [name for name in COMPONENTS if (install, name) not in NOT_TOGETHER]
    text = {"resources": [ours[install]], "components": [ours[name] for name in more]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(text))
    return folder


def pods(documents: list[Json]) -> list[Json]:
    """What their controllers would make, under the names of the controllers."""
    return [pod(each) for each in documents if each["kind"] in MAKE_PODS]


def pod(controller: Json) -> Json:
    name, template = controller["metadata"]["name"], controller["spec"]["template"]
    claims = [each["metadata"]["name"] for each in controller["spec"].get("volumeClaimTemplates", ())]
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    volumes += template["spec"].get("volumes", [])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": name},
        "spec": {"restartPolicy": "Never", **template["spec"], "volumes": volumes},
    }


def told(kubectl: Kubectl, namespace: str, *documents: Json) -> str:
    """What the API server has against objects; nothing if it takes them."""
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
    return kubectl.run("create", "-n", namespace, "-f", "-", "--dry-run=server", stdin=listed, check=False).stderr


@pytest.mark.parametrize("install", INSTALLS)
def test_the_pods_of_an_install_may_run_in_a_restricted_namespace(
    kubectl: Kubectl, strict: str, tmp_path: Path, install: str
) -> None:
    documents = kustomized(kubectl, with_components(tmp_path, install))
    made = pods(documents)
    assert {"paceline-migrate"} < {each["metadata"]["name"] for each in made}
    for account in {each["spec"]["serviceAccountName"] for each in made if "serviceAccountName" in each["spec"]}:
        kubectl.run("create", "serviceaccount", account, "-n", strict)
    assert told(kubectl, strict, *made) == ""
    for each in made:
        del each["spec"]["containers"][0]["securityContext"]
    refused = told(kubectl, strict, *made).count('violates PodSecurity "restricted')
    assert refused == len(made), "else they are not looked at"
