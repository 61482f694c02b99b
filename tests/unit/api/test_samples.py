"""The samples say only what the API knows, and what a user needs to begin; there is one for each feature."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from paceline_dev import REPOSITORY
from paceline_dev.images.recipe import EXAMPLES, default_tag
from paceline_operator.api.v1alpha1 import RESOURCES, RunnerGroup

FOLDER = REPOSITORY / "manifests" / "samples"
OURS = "paceline.dev/"
MODELS = {resource.kind: resource.model for resource in RESOURCES}
SHARED = "paceline-db"
"""The Secret of secret.yaml."""


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


SAMPLES = [
    (path, document)
    for path in sorted(FOLDER.glob("*.yaml"))
    for document in documents(path)
    if document["apiVersion"].startswith(OURS)
]
NAMES = [document["metadata"]["name"] for _, document in SAMPLES]
samples = pytest.mark.parametrize(("path", "document"), SAMPLES, ids=NAMES)


@samples
def test_a_sample_has_no_field_that_the_api_does_not_know(path: Path, document: dict[str, Any]) -> None:
    parsed = MODELS[document["kind"]].model_validate(document)
    assert parsed.model_dump(mode="json", by_alias=True, exclude_unset=True) == document


@samples
def test_its_runner_is_our_example_limited_and_cannot_write(path: Path, document: dict[str, Any]) -> None:
    (runner,) = document["spec"]["template"]["spec"]["containers"]
    assert (runner["name"], runner["image"]) == ("runner", f"{EXAMPLES.name}:{default_tag()}")
    assert runner["resources"]["requests"].keys() == {"cpu", "memory"}
    assert "memory" in runner["resources"]["limits"]
    assert runner["securityContext"] == {"readOnlyRootFilesystem": True}


@samples
def test_whoever_applies_it_is_told_which_secret_it_needs(path: Path, document: dict[str, Any]) -> None:
    text = path.read_text()
    made = {each["metadata"]["name"] for each in documents(path) if each["kind"] == "Secret"}
    for key, reference in document["spec"]["database"].items():
        name = reference["name"]
        told = "Secret of secret.yaml" if name == SHARED else f"create secret generic {name}"
        assert name in made or told in text, key


def test_no_two_groups_of_the_samples_have_one_name() -> None:
    assert len(set(NAMES)) == len(NAMES)


def spec(sample: str) -> dict[str, Any]:
    found = next(each for each in documents(FOLDER / f"{sample}.yaml") if each["kind"] == "RunnerGroup")
    chosen: dict[str, Any] = found["spec"]
    return chosen


def test_each_feature_has_one() -> None:
    assert "autoscaling" not in spec("plain")
    assert spec("runnergroup")["autoscaling"]["minReplicas"] == 0
    assert spec("hpa")["autoscaling"]["mode"] == "External"
    assert spec("leader")["dispatch"] == "Leader"
    assert spec("taints")["taints"][0]["effect"] == "NoClaim"
    assert spec("ephemeral")["lifetime"]["maxJobs"] == 1
    assert "gpu" in spec("gpu")["tags"]
    assert spec("disruption").keys() >= {"drain", "disruptionBudget"}
    assert spec("rollout")["updateStrategy"]["canary"]["runners"] > 0
    database = spec("logins")["database"]
    assert database["runnerSecretRef"] != database["secretRef"]


def test_the_hpa_scales_the_group_beside_it() -> None:
    group, scaler = documents(FOLDER / "hpa.yaml")
    target = {"apiVersion": group["apiVersion"], "kind": group["kind"], "name": group["metadata"]["name"]}
    assert scaler["spec"]["scaleTargetRef"] == target
    (metric,) = scaler["spec"]["metrics"]
    assert metric["external"]["metric"]["selector"]["matchLabels"] == {"group": target["name"]}


def test_tls_is_checked_and_the_authority_is_where_the_url_says() -> None:
    authority, secret, group = documents(FOLDER / "tls.yaml")
    assert "?sslmode=verify-full&sslrootcert=/etc/paceline/ca/ca.crt" in secret["stringData"]["url"]
    pod = group["spec"]["template"]["spec"]
    (volume,) = [each for each in pod["volumes"] if "configMap" in each]
    assert volume["configMap"]["name"] == authority["metadata"]["name"]
    assert "ca.crt" in authority["data"]
    mounts = {each["name"]: each["mountPath"] for each in pod["containers"][0]["volumeMounts"]}
    assert mounts[volume["name"]] == "/etc/paceline/ca"


def test_the_ingress_leads_to_our_gateway_by_tls() -> None:
    (ingress,) = documents(FOLDER / "gateway-ingress.yaml")
    service = yaml.safe_load((REPOSITORY / "manifests" / "gateway" / "service.yaml").read_text())
    (rule,) = ingress["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert path["backend"]["service"]["name"] == service["metadata"]["name"]
    assert path["backend"]["service"]["port"]["name"] == service["spec"]["ports"][0]["name"]
    assert ingress["spec"]["tls"][0]["hosts"] == [rule["host"]]


def test_the_sample_group_has_a_container_that_works_on_jobs() -> None:
    document = yaml.safe_load((FOLDER / "runnergroup.yaml").read_text())
    group = RunnerGroup.model_validate(document)
    assert (group.pool, group.spec.scaling_mode) == ("builds", "Internal")


def test_the_sample_secret_is_the_one_that_the_sample_groups_want() -> None:
    secret = yaml.safe_load((FOLDER / "secret.yaml").read_text())
    assert secret["metadata"]["name"] == SHARED
    assert secret["stringData"].keys() == {"url"}
