"""The samples say only what the API knows, and what a user needs to begin."""

from pathlib import Path

import pytest
import yaml

from paceline_dev import REPOSITORY
from paceline_operator.api.v1alpha1 import RESOURCES, RunnerGroup

SAMPLES = sorted((REPOSITORY / "manifests" / "samples").glob("*.yaml"))
MODELS = {resource.kind: resource.model for resource in RESOURCES}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_has_no_field_that_the_api_does_not_know(path: Path) -> None:
    document = yaml.safe_load(path.read_text())
    parsed = MODELS[document["kind"]].model_validate(document)
    assert parsed.model_dump(mode="json", by_alias=True, exclude_unset=True) == document


def test_the_sample_group_has_a_container_that_works_on_jobs() -> None:
    document = yaml.safe_load((REPOSITORY / "manifests" / "samples" / "runnergroup.yaml").read_text())
    group = RunnerGroup.model_validate(document)
    assert (group.pool, group.spec.scaling_mode) == ("builds", "Internal")
    assert [each["name"] for each in document["spec"]["template"]["spec"]["containers"]] == ["runner"]
