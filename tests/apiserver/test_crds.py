"""The CRDs as a real API server understands them, seen through kubectl as a user would."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver.objects import CASES, CHANGES, RANGES, Case, Change, group, runner, scaled
from paceline_dev import crds as generator
from paceline_dev.kubectl import Kubectl
from paceline_operator.api.schema import VALIDATIONS, JsonDict
from paceline_operator.api.v1alpha1 import RESOURCES, RunnerGroup

pytestmark = pytest.mark.usefixtures("crds")

SCALE = "/apis/paceline.dev/v1alpha1/namespaces/{}/runnergroups/builds/scale"

STATUS = {
    "replicas": 3,
    "readyReplicas": 2,
    "busyReplicas": 1,
    "pendingReplicas": 4,
    "updatedReplicas": 2,
    "selector": "paceline.dev/group=builds",
    "pool": "images",
    "leader": {"runner": "builds-7xk2p", "epoch": 1},
    "queue": {"ready": 17, "oldestSeconds": 42},
    "conditions": [
        {
            "type": "Ready",
            "status": "False",
            "reason": "PoolConflict",
            "message": "ask",
            "lastTransitionTime": "2026-03-01T10:00:07Z",
        }
    ],
}


def create(kubectl: Kubectl, namespace: str, *objects: object, args: tuple[str, ...] = ()) -> None:
    for each in objects:
        kubectl.run("create", "-n", namespace, "-f", "-", *args, stdin=json.dumps(each))


def write_status(kubectl: Kubectl, namespace: str, name: str, status: object) -> None:
    patch = json.dumps({"status": status})
    kubectl.run("patch", name, "-n", namespace, "--subresource=status", "--type=merge", "-p", patch)


def rules(value: Any) -> Iterator[str]:
    """The message of every rule in a CRD."""
    if isinstance(value, list):
        for each in value:
            yield from rules(each)
    if isinstance(value, dict):
        yield from (each["message"] for each in value.get(VALIDATIONS, ()))
        for each in value.values():
            yield from rules(each)


def test_a_second_apply_changes_nothing(kubectl: Kubectl, tmp_path: Path) -> None:
    generator.write(tmp_path)
    said = kubectl.run("apply", "-f", str(tmp_path)).stdout.splitlines()
    assert sorted(said) == [
        "customresourcedefinition.apiextensions.k8s.io/runnergroups.paceline.dev unchanged",
        "customresourcedefinition.apiextensions.k8s.io/runners.paceline.dev unchanged",
    ]


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each.kind)
def test_a_crd_is_served_and_its_schema_structural(kubectl: Kubectl, resource: Any) -> None:
    status = kubectl.json("get", "crd", resource.name)["status"]
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    assert conditions["Established"] == "True"
    assert conditions["NamesAccepted"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"
    assert status["acceptedNames"]["shortNames"] == list(resource.short_names)
    assert status["acceptedNames"]["categories"] == ["paceline"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("rgrp.spec.autoscaling", "How the number of runners follows the queue."),
        ("rgrp.spec.autoscaling", "The fewest runners that Internal keeps, 0 to 10000."),
        ("rgrp.spec.autoscaling.mode", "ENUM: Internal External Recommend Off"),
        ("rgrp.spec.drain.timeoutSeconds", "Default: 300."),
        ("rnr.spec", "The RunnerGroup that the runner belongs to."),
    ],
)
def test_kubectl_explains_the_fields(kubectl: Kubectl, path: str, words: str) -> None:
    until = time.monotonic() + 60  # the API server publishes its OpenAPI some time after a CRD is established
    said = ""
    while words not in said and time.monotonic() < until:
        said = " ".join(kubectl.run("explain", path, check=False).stdout.split())
    assert words in said


@pytest.mark.parametrize("case", [*CASES, *RANGES], ids=lambda case: case.name)
def test_a_bad_object_is_refused_with_words_that_help(kubectl: Kubectl, case: Case) -> None:
    command = ("create", "--dry-run=server", "-f", "-")
    kubectl.run(*command, stdin=json.dumps(case.good))
    refused = kubectl.run(*command, stdin=json.dumps(case.bad), check=False)
    assert refused.returncode != 0
    assert case.message in refused.stderr


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (group("a.b"), "metadata.name"),
        (group(tags=["fine", "not fine"]), "spec.tags[1]"),
        (scaled(minReplicas=11), "spec.autoscaling.minReplicas"),
        (scaled(fallback={"replicas": 11}), "spec.autoscaling.fallback.replicas"),
        (group(updateStrategy={"maxSurge": 0}), "spec.updateStrategy.maxSurge"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_an_error_points_at_the_field(kubectl: Kubectl, bad: JsonDict, field: str) -> None:
    refused = kubectl.run("create", "--dry-run=server", "-f", "-", stdin=json.dumps(bad), check=False)
    assert f" {field}: Invalid value: " in refused.stderr


@pytest.mark.parametrize("case", CHANGES, ids=lambda case: case.name)
def test_a_bad_change_is_refused_with_words_that_help(kubectl: Kubectl, namespace: str, case: Change) -> None:
    create(kubectl, namespace, case.before)
    command = ("replace", "-n", namespace, "--dry-run=server", "-f", "-")
    kubectl.run(*command, stdin=json.dumps(case.good))
    refused = kubectl.run(*command, stdin=json.dumps(case.bad), check=False)
    assert refused.returncode != 0
    assert case.message in refused.stderr


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each.kind)
def test_every_rule_has_a_bad_object(resource: Any) -> None:
    tried = [case.message for case in (*CASES, *CHANGES) if case.bad["kind"] == resource.kind]
    crd = generator.definition(resource)
    assert list(rules(crd))
    assert [rule for rule in rules(crd) if not any(message in rule for message in tried)] == []


@pytest.mark.parametrize(
    "given", [group(), scaled(fallback={"replicas": 1}), group(taints=[{"key": "gpu", "effect": "Drain"}])]
)
def test_the_api_server_fills_in_what_the_models_do(kubectl: Kubectl, namespace: str, given: Any) -> None:
    create(kubectl, namespace, given)
    stored = kubectl.json("get", "rgrp", "builds", "-n", namespace)
    expected = RunnerGroup.model_validate(given)
    assert stored["spec"] == expected.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert "status" not in stored
    assert RunnerGroup.model_validate(stored).spec == expected.spec


def test_a_group_can_be_scaled_by_kubectl(kubectl: Kubectl, namespace: str) -> None:
    create(kubectl, namespace, group())
    write_status(kubectl, namespace, "rgrp/builds", STATUS)
    kubectl.run("scale", "rgrp/builds", "-n", namespace, "--replicas=7")
    scale = json.loads(kubectl.run("get", "--raw", SCALE.format(namespace)).stdout)
    assert scale["spec"] == {"replicas": 7}
    assert scale["status"] == {"replicas": 3, "selector": "paceline.dev/group=builds"}
    assert kubectl.json("get", "rgrp", "builds", "-n", namespace)["spec"]["replicas"] == 7


def test_a_new_group_has_a_scale_that_an_hpa_can_read(kubectl: Kubectl, namespace: str) -> None:
    create(kubectl, namespace, group())
    scale = json.loads(kubectl.run("get", "--raw", SCALE.format(namespace)).stdout)
    assert scale["spec"] == {"replicas": 1}
    assert scale["status"] == {"replicas": 0}


def test_kubectl_get_answers_how_many_and_why(kubectl: Kubectl, namespace: str) -> None:
    create(kubectl, namespace, scaled())
    write_status(kubectl, namespace, "rgrp/builds", STATUS)
    header, row = kubectl.run("get", "rgrp", "-n", namespace).stdout.splitlines()
    assert header.split() == ["NAME", "REPLICAS", "READY", "BUSY", "QUEUED", "OLDEST(S)", "WHY", "AGE"]
    assert row.split()[:-1] == ["builds", "3", "2", "1", "17", "42", "PoolConflict"]
    header, row = kubectl.run("get", "rgrp", "-n", namespace, "-o", "wide").stdout.splitlines()
    assert header.split()[8:] == ["POOL", "MODE", "LEADER", "UPDATED", "PENDING", "MESSAGE"]
    assert row.split()[8:] == ["images", "Internal", "builds-7xk2p", "2", "4", "ask"]


def test_kubectl_get_shows_where_a_runner_lives(kubectl: Kubectl, namespace: str) -> None:
    create(kubectl, namespace, runner())
    lives = {"podName": "builds-7xk2p-1", "incarnation": 815, "revision": "r1", "taints": "gpu=bad:NoClaim"}
    write_status(kubectl, namespace, "rnr/builds-7xk2p", {**lives, "conditions": STATUS["conditions"]})
    header, row = kubectl.run("get", "rnr", "-n", namespace).stdout.splitlines()
    assert header.split() == ["NAME", "GROUP", "READY", "WHY", "POD", "AGE"]
    assert row.split()[:-1] == ["builds-7xk2p", "builds", "False", "PoolConflict", "builds-7xk2p-1"]
    header, row = kubectl.run("get", "rnr", "-n", namespace, "-o", "wide").stdout.splitlines()
    assert header.split()[6:] == ["EXTERNAL", "TAINTS", "INCARNATION", "REVISION"]
    assert row.split()[6:] == ["false", "gpu=bad:NoClaim", "815", "r1"]


def test_one_word_lists_groups_and_runners(kubectl: Kubectl, namespace: str) -> None:
    create(kubectl, namespace, group(), runner())
    said = kubectl.run("get", "paceline", "-n", namespace).stdout
    assert "runnergroup.paceline.dev/builds" in said
    assert "runner.paceline.dev/builds-7xk2p" in said


def test_runners_are_found_by_their_group(kubectl: Kubectl, namespace: str) -> None:
    create(kubectl, namespace, runner(), runner("images-1", groupRef={"name": "images"}))
    found = kubectl.run("get", "rnr", "-n", namespace, "-o", "name", "--field-selector", "spec.groupRef.name=images")
    assert found.stdout.split() == ["runner.paceline.dev/images-1"]


def test_a_field_with_a_typo_is_refused(kubectl: Kubectl, namespace: str) -> None:
    with_typo = json.dumps(group(slot=4))
    refused = kubectl.run("apply", "-n", namespace, "-f", "-", stdin=with_typo, check=False)
    assert refused.returncode != 0
    assert 'unknown field "spec.slot"' in refused.stderr


def test_unknown_fields_are_pruned_but_not_in_the_template(kubectl: Kubectl, namespace: str) -> None:
    template: JsonDict = {"spec": {"containers": [{"name": "runner", "somethingNew": {"a": [1]}}]}}
    create(kubectl, namespace, group(slot=4, template=template), args=("--validate=ignore",))
    spec = kubectl.json("get", "rgrp", "builds", "-n", namespace)["spec"]
    assert "slot" not in spec
    assert spec["template"] == template


def test_a_status_without_a_reason_is_refused(kubectl: Kubectl, namespace: str) -> None:
    create(kubectl, namespace, group())
    with pytest.raises(Exception, match=r"status\.conditions\[0\]\.reason: Required value"):
        write_status(kubectl, namespace, "rgrp/builds", {"conditions": [{"type": "Ready", "status": "True"}]})
