"""The objects that are applied: what is ours, what is the user's, and what cannot be made."""

import pytest

from paceline_operator.api.schema import JsonDict
from paceline_operator.domain.objects import build_budget, build_pod, build_runner, template_problem
from paceline_operator.domain.revision import revision_of
from unit.operator.world import group


def made(**spec: object) -> JsonDict:
    return build_pod(group(1, **spec), "builds-x2k4b", "u-runner", 3, "here")


def container(pod: JsonDict) -> JsonDict:
    spec = pod["spec"]
    assert isinstance(spec, dict)
    (found,) = [each for each in spec["containers"] if each["name"] == "runner"]  # type: ignore[union-attr, index, call-overload]  # JSON
    assert isinstance(found, dict)
    return found


def environment(pod: JsonDict) -> dict[str, object]:
    found = container(pod)["env"]
    assert isinstance(found, list)
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in found if isinstance(each, dict)}  # type: ignore[misc]  # JSON


def test_a_pod_belongs_to_its_runner_and_is_its_nth() -> None:
    revision = revision_of(group(1))
    assert made()["metadata"] == {
        "name": "builds-x2k4b-3",
        "namespace": "ci",
        "labels": {
            "paceline.dev/group": "builds", "paceline.dev/runner": "builds-x2k4b", "paceline.dev/revision": revision,
        },
        "ownerReferences": [
            {"apiVersion": "paceline.dev/v1alpha1", "kind": "Runner", "name": "builds-x2k4b", "uid": "u-runner",
             "controller": True}
        ],
    }  # fmt: skip


def test_a_pod_never_restarts_its_runner_and_outlives_the_drain() -> None:
    spec = made(drain={"timeoutSeconds": 45})["spec"]
    assert isinstance(spec, dict)
    assert (spec["restartPolicy"], spec["terminationGracePeriodSeconds"]) == ("Never", 75)
    assert spec["automountServiceAccountToken"] is False


def test_the_runner_is_told_who_it_is() -> None:
    found = environment(made(slots=4, tags=["linux", "docker"], lifetime={"maxJobs": 9}, drain={"timeoutSeconds": 45}))
    assert found == {
        "PACELINE_DATABASE_URL": {"secretKeyRef": {"name": "db", "key": "url"}},
        "PACELINE_LISTEN_URL": {"secretKeyRef": {"name": "db", "key": "listenUrl", "optional": True}},
        "PACELINE_NODE_ID": "builds-x2k4b",
        "PACELINE_GROUP": "ci/builds",
        "PACELINE_INSTALL": "here",
        "PACELINE_POD_NAME": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
        "PACELINE_POD_UID": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.uid"}},
        "PACELINE_POD_IP": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}},
        "PACELINE_LISTEN": "$(PACELINE_POD_IP):8080",
        "PACELINE_REVISION": revision_of(group(1, slots=4, tags=["linux", "docker"], lifetime={"maxJobs": 9},
                                               drain={"timeoutSeconds": 45})),
        "PACELINE_SLOTS": "4",
        "PACELINE_TAGS": "linux,docker",
        "PACELINE_MAX_JOBS": "9",
        "PACELINE_DRAIN_TIMEOUT_SECS": "45",
    }  # fmt: skip


def test_the_pods_have_a_login_of_their_own_where_there_is_one() -> None:
    database = {"secretRef": {"name": "db"}, "runnerSecretRef": {"name": "mine"}}
    assert environment(made(database=database))["PACELINE_DATABASE_URL"] == {
        "secretKeyRef": {"name": "mine", "key": "url"}
    }


def test_probes_and_the_hook_are_ours() -> None:
    found = container(made())
    assert found["lifecycle"] == {"preStop": {"exec": {"command": ["paceline", "drain", "--wait"]}}}
    for probe, path in (("readinessProbe", "/health/ready"), ("livenessProbe", "/health/live")):
        assert found[probe]["httpGet"] == {"path": path, "port": 8080, "scheme": "HTTP"}  # type: ignore[index, call-overload]  # JSON


def test_what_the_user_wrote_stays_and_what_is_ours_wins() -> None:
    template = {
        "metadata": {"labels": {"team": "x", "paceline.dev/group": "stolen"}, "annotations": {"note": "y"}},
        "spec": {
            "restartPolicy": "Always", "nodeSelector": {"disk": "ssd"}, "automountServiceAccountToken": True,
            "initContainers": [{"name": "proxy", "image": "p", "restartPolicy": "Always"}],
            "containers": [{
                "name": "runner", "image": "i", "resources": {"limits": {"cpu": "1"}}, "startupProbe": {},
                "ports": [{"name": "web", "containerPort": 80}],
                "env": [{"name": "PACELINE_NODE_ID", "value": "me"}, {"name": "MODE", "value": "fast"}],
            }],
        },
    }  # fmt: skip
    pod = made(template=template)
    meta, spec, found = pod["metadata"], pod["spec"], container(pod)
    assert isinstance(meta, dict)
    assert isinstance(spec, dict)
    assert meta["labels"]["team"] == "x"  # type: ignore[index, call-overload]  # JSON
    assert meta["labels"]["paceline.dev/group"] == "builds"  # type: ignore[index, call-overload]  # JSON
    assert meta["annotations"] == {"note": "y"}
    assert (spec["restartPolicy"], spec["nodeSelector"], spec["automountServiceAccountToken"]) == (
        "Never",
        {"disk": "ssd"},
        True,
    )
    assert spec["initContainers"] == template["spec"]["initContainers"]  # type: ignore[index]  # JSON
    assert environment(pod)["PACELINE_NODE_ID"] == "builds-x2k4b"
    assert environment(pod)["MODE"] == "fast"
    assert found["ports"] == [
        {"name": "paceline", "containerPort": 8080, "protocol": "TCP"},
        {"name": "web", "containerPort": 80},
    ]
    assert found["resources"] == {"limits": {"cpu": "1"}}
    assert "startupProbe" not in found


def test_making_a_pod_changes_nothing_in_the_group() -> None:
    wanted = group(1)
    before = wanted.model_dump_json()
    build_pod(wanted, "a", "u", 1, "here")
    assert wanted.model_dump_json() == before


def test_a_runner_belongs_to_its_group() -> None:
    found = build_runner(group(1), "builds-x2k4b")
    assert found["spec"] == {"groupRef": {"name": "builds"}}
    assert found["metadata"] == {
        "name": "builds-x2k4b", "namespace": "ci", "labels": {"paceline.dev/group": "builds"},
        "ownerReferences": [{"apiVersion": "paceline.dev/v1alpha1", "kind": "RunnerGroup", "name": "builds",
                             "uid": "u-1", "controller": True}],
    }  # fmt: skip


def test_a_budget_says_what_must_be_left() -> None:
    assert build_budget(group(1), 4)["spec"] == {
        "minAvailable": 4,
        "selector": {"matchLabels": {"paceline.dev/group": "builds"}},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ({}, "spec.template.spec is missing"),
        ({"spec": {}}, 'no container named "runner" (there are: none)'),
        ({"spec": {"containers": [{"name": "worker"}]}}, "(there are: worker)"),
        ({"spec": {"containers": [{"name": "runner"}, {"name": "log"}]}}, "also has log"),
        ({"spec": {"containers": [{"name": "runner"}], "initContainers": [{"name": "log"}]}}, ""),
        (None, ""),
    ],
)
def test_a_template_that_cannot_work_is_told(template: object, words: str) -> None:
    found = template_problem(group(1, template=template))
    assert words in found
    assert bool(words) == bool(found)


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"slots": 2}, False),
        ({"tags": ["x"]}, False),
        ({"drain": {"timeoutSeconds": 5}}, False),
        ({"database": {"secretRef": {"name": "other"}}}, False),
        ({"template": {"spec": {"containers": [{"name": "runner", "image": "acme/builds:2"}]}}}, False),
        ({"startupTimeoutSeconds": 5}, True),
        ({"disruptionBudget": {"maxUnavailable": 5}}, True),
    ],
)
def test_a_revision_is_what_a_pod_is_made_of(changes: dict[str, object], same: bool) -> None:
    assert (revision_of(group(1)) == revision_of(group(5, **changes))) is same
