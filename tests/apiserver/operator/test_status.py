"""The status of one object: our part of it, all of it, and never that of a newer object of the same name."""

import pytest

from apiserver.operator.between import Between
from apiserver.operator.people import condition, group, uid
from paceline_dev.kubectl import Kubectl
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.ports.errors import ConflictError, RefusedError
from paceline_operator.ports.resources import RUNNER_GROUP

THEIRS = """
apiVersion: paceline.dev/v1alpha1
kind: RunnerGroup
metadata: {name: builds}
status:
  conditions:
    - {type: example.com/Audited, status: "True", reason: Ok, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}
"""


async def test_our_fields_come_and_go_and_the_conditions_of_others_stay(
    cluster: KubernetesCluster, kubectl: Kubectl, namespace: str
) -> None:
    made = uid(await cluster.apply(group(namespace)))
    first = {"replicas": 3, "readyReplicas": 2, "conditions": [condition("Ready"), condition("Paused")]}
    await cluster.patch_status(RUNNER_GROUP, namespace, "builds", first, uid=made)
    args = ("--server-side", "--subresource=status", "--field-manager=auditor", "-f", "-")
    kubectl.run("apply", "-n", namespace, *args, stdin=THEIRS)
    second = {"replicas": 4, "conditions": [condition("Ready", "False")]}
    after = await cluster.patch_status(RUNNER_GROUP, namespace, "builds", second, uid=made)
    assert after is not None
    assert after["status"]["replicas"] == 4
    assert "readyReplicas" not in after["status"]
    found = {each["type"]: each["status"] for each in after["status"]["conditions"]}
    assert found == {"Ready": "False", "example.com/Audited": "True"}
    assert after["spec"]["slots"] == 1
    emptied = await cluster.patch_status(RUNNER_GROUP, namespace, "builds", {}, uid=made)
    assert emptied is not None
    assert [each["type"] for each in emptied["status"]["conditions"]] == ["example.com/Audited"]
    assert "replicas" not in emptied["status"]


async def test_a_late_status_does_not_reach_a_new_object_of_that_name(
    cluster: KubernetesCluster, namespace: str
) -> None:
    old = await cluster.apply(group(namespace))
    assert await cluster.delete(RUNNER_GROUP, namespace, "builds", uid=uid(old))
    version = old["metadata"]["resourceVersion"]
    for seen in (None, version):
        status, gone = {"replicas": 9}, uid(old)
        written = await cluster.patch_status(RUNNER_GROUP, namespace, "builds", status, uid=gone, resource_version=seen)
        assert written is None, "there is no such object"
    await cluster.apply(group(namespace))
    for seen in (None, version):
        written = await cluster.patch_status(
            RUNNER_GROUP, namespace, "builds", {"replicas": 9}, uid=uid(old), resource_version=seen
        )
        assert written is None, "it is another object"
    found = await cluster.get(RUNNER_GROUP, namespace, "builds")
    assert found is not None
    assert "status" not in found


async def test_the_object_is_exchanged_between_our_read_and_our_write(
    patient: KubernetesCluster, middle: Between, kubectl: Kubectl, namespace: str
) -> None:
    """The uid alone would not do: the API server lets a foreign one through to the status of a custom resource."""
    old = uid(await patient.apply(group(namespace)))

    def exchange(_: object) -> None:
        spec = '{"database":{"secretRef":{"name":"db"}}}'
        again = '{"apiVersion":"paceline.dev/v1alpha1","kind":"RunnerGroup","metadata":{"name":"builds"},"spec":%s}'
        kubectl.run("replace", "--force", "-n", namespace, "-f", "-", stdin=again % spec)  # our request waits for it

    middle.turns.extend([lambda _: None, exchange])
    assert await patient.patch_status(RUNNER_GROUP, namespace, "builds", {"replicas": 9}, uid=old) is None
    found = await patient.get(RUNNER_GROUP, namespace, "builds")
    assert uid(found) != old
    assert found is not None
    assert "status" not in found


async def test_without_a_version_a_change_by_others_is_no_obstacle(
    patient: KubernetesCluster, middle: Between, kubectl: Kubectl, namespace: str
) -> None:
    made = uid(await patient.apply(group(namespace)))

    def other(_: object) -> None:
        kubectl.run("annotate", "rgrp/builds", "-n", namespace, "paceline.dev/paused=true")

    middle.turns.extend([lambda _: None, other])
    after = await patient.patch_status(RUNNER_GROUP, namespace, "builds", {"replicas": 9}, uid=made)
    assert after is not None
    assert after["status"] == {"replicas": 9}
    assert after["metadata"]["annotations"] == {"paceline.dev/paused": "true"}


async def test_with_a_version_a_change_by_others_is_a_conflict(
    cluster: KubernetesCluster, kubectl: Kubectl, namespace: str
) -> None:
    made = await cluster.apply(group(namespace))
    version = made["metadata"]["resourceVersion"]
    kubectl.run("annotate", "rgrp/builds", "-n", namespace, "paceline.dev/paused=true")
    with pytest.raises(ConflictError, match="the object has been modified"):
        await cluster.patch_status(
            RUNNER_GROUP, namespace, "builds", {"replicas": 9}, uid=uid(made), resource_version=version
        )


async def test_with_the_right_version_it_is_one_request(
    patient: KubernetesCluster, middle: Between, namespace: str
) -> None:
    made = await patient.apply(group(namespace))
    middle.seen.clear()
    version = made["metadata"]["resourceVersion"]
    after = await patient.patch_status(
        RUNNER_GROUP, namespace, "builds", {"replicas": 9}, uid=uid(made), resource_version=version
    )
    assert after is not None
    assert [request.method for request in middle.seen] == ["PATCH"]


async def test_a_status_that_the_schema_does_not_allow_is_refused(cluster: KubernetesCluster, namespace: str) -> None:
    made = uid(await cluster.apply(group(namespace)))
    bad = {"conditions": [{"type": "Ready", "status": "True"}]}
    with pytest.raises(RefusedError, match=r"status\.conditions\[0\]\.reason: Required value"):
        await cluster.patch_status(RUNNER_GROUP, namespace, "builds", bad, uid=made)
