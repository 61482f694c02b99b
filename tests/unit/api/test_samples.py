"""The samples say only what the API knows, and what a user needs to begin."""

from pathlib import Path

import pytest
import yaml

from paceline_dev import REPOSITORY
from paceline_operator.api.v1alpha1 import RESOURCES, RunnerGroup

FOLDER = REPOSITORY / "manifests" / "samples"
SAMPLES = sorted(FOLDER.glob("runner*.yaml"))
MODELS = {resource.kind: resource.model for resource in RESOURCES}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_has_no_field_that_the_api_does_not_know(path: Path) -> None:
    document = yaml.safe_load(path.read_text())
    parsed = MODELS[document["kind"]].model_validate(document)
    assert parsed.model_dump(mode="json", by_alias=True, exclude_unset=True) == document


def test_the_sample_group_has_a_container_that_works_on_jobs() -> None:
    document = yaml.safe_load((FOLDER / "runnergroup.yaml").read_text())
    group = RunnerGroup.model_validate(document)
    assert (group.pool, group.spec.scaling_mode) == ("builds", "Internal")
    assert [each["name"] for each in document["spec"]["template"]["spec"]["containers"]] == ["runner"]


def test_the_sample_secret_is_the_one_that_the_sample_group_wants() -> None:
    secret = yaml.safe_load((FOLDER / "secret.yaml").read_text())
    group = yaml.safe_load((FOLDER / "runnergroup.yaml").read_text())
    assert group["spec"]["database"]["secretRef"]["name"] == secret["metadata"]["name"]
    assert secret["stringData"].keys() == {"url"}
