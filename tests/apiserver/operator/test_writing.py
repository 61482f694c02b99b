"""Apply, create, delete and patch: ours and no more, this object and no other."""

import asyncio
from pathlib import Path

import pytest

from apiserver.operator.between import Between
from apiserver.operator.people import group, pod, runner, uid
from paceline_dev.audit import AuditLog
from paceline_dev.kubectl import Kubectl
from paceline_operator.adapters.access import Kubeconfig
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.ports.errors import AlreadyExistsError, ClusterError, ConflictError, NotLeadingError
from paceline_operator.ports.resources import POD, RUNNER, RUNNER_GROUP

FINALIZER = "paceline.dev/cleanup"


async def recreate(cluster: KubernetesCluster, namespace: str) -> tuple[str, str]:
    """A Runner, deleted and created again under its name: the uids of both."""
    old = uid(await cluster.apply(runner(namespace)))
    assert await cluster.delete(RUNNER, namespace, "r", uid=old)
    return old, uid(await cluster.apply(runner(namespace)))


async def test_apply_removes_our_fields_that_we_no_longer_send_and_keeps_those_of_others(
    cluster: KubernetesCluster, kubectl: Kubectl, namespace: str
) -> None:
    made = runner(namespace)
    made["metadata"]["labels"] = {"ours": "1", "dropped": "1"}
    await cluster.apply(made)
    kubectl.run("label", "rnr/r", "-n", namespace, "theirs=1")
    del made["metadata"]["labels"]["dropped"]
    after = await cluster.apply(made)
    assert after["metadata"]["labels"] == {"ours": "1", "theirs": "1"}


async def test_apply_takes_a_field_that_others_changed(
    cluster: KubernetesCluster, kubectl: Kubectl, namespace: str
) -> None:
    await cluster.apply(group(namespace, slots=4))
    kubectl.run("patch", "rgrp/builds", "-n", namespace, "--type=merge", "-p", '{"spec":{"slots":5}}')
    assert (await cluster.apply(group(namespace, slots=4)))["spec"]["slots"] == 4


async def test_apply_writes_under_our_name(cluster: KubernetesCluster, namespace: str) -> None:
    made = await cluster.apply(runner(namespace))
    assert [(f["manager"], f["operation"]) for f in made["metadata"]["managedFields"]] == [("paceline", "Apply")]


async def test_a_dry_run_checks_and_stores_nothing(cluster: KubernetesCluster, namespace: str) -> None:
    would_be = await cluster.apply(pod(namespace), dry_run=True)
    assert would_be["spec"]["containers"][0]["imagePullPolicy"] == "Always", "the API server filled in its defaults"
    assert await cluster.get(POD, namespace, "p") is None


async def test_apply_to_a_certain_object_does_not_reach_another(cluster: KubernetesCluster, namespace: str) -> None:
    old, new = await recreate(cluster, namespace)
    late = runner(namespace)
    late["metadata"] |= {"uid": old, "labels": {"late": "1"}}
    with pytest.raises(ConflictError):
        await cluster.apply(late)
    found = await cluster.get(RUNNER, namespace, "r")
    assert found is not None
    assert "labels" not in found["metadata"]
    assert await cluster.delete(RUNNER, namespace, "r", uid=new)
    with pytest.raises(ConflictError):
        await cluster.apply(late)
    assert await cluster.get(RUNNER, namespace, "r") is None


async def test_a_kind_without_a_descriptor_is_named(cluster: KubernetesCluster, namespace: str) -> None:
    with pytest.raises(ClusterError, match=r'kind "Deployment" of "apps/v1" .*ports/resources\.py'):
        await cluster.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}})


async def test_a_taken_name_is_told_from_other_conflicts(cluster: KubernetesCluster, namespace: str) -> None:
    made = await cluster.create(runner(namespace))
    assert made["metadata"]["uid"]
    with pytest.raises(AlreadyExistsError, match=r'runners\.paceline\.dev "r" already exists') as taken:
        await cluster.create(runner(namespace))
    assert taken.value.status == 409


async def test_a_delete_is_for_one_object_and_not_for_its_name(cluster: KubernetesCluster, namespace: str) -> None:
    old, new = await recreate(cluster, namespace)
    assert not await cluster.delete(RUNNER, namespace, "r", uid=old)
    assert uid(await cluster.get(RUNNER, namespace, "r")) == new
    assert await cluster.delete(RUNNER, namespace, "r", uid=new)
    assert not await cluster.delete(RUNNER, namespace, "r", uid=new)


async def test_a_conflict_that_is_not_about_the_uid_is_raised(
    watched: KubernetesCluster, middle: Between, namespace: str
) -> None:
    made = await watched.apply(runner(namespace))
    middle.turns.append(middle.say(409, "busy", reason="Conflict"))
    with pytest.raises(ConflictError, match="busy"):
        await watched.delete(RUNNER, namespace, "r", uid=uid(made))


@pytest.mark.parametrize("propagation", ["Foreground", "Orphan"])
async def test_a_delete_says_what_becomes_of_the_children(
    cluster: KubernetesCluster, namespace: str, propagation: str
) -> None:
    made = await cluster.apply(group(namespace))
    held = await cluster.add_finalizer(RUNNER_GROUP, namespace, "builds", FINALIZER, uid=uid(made))
    assert await cluster.delete(RUNNER_GROUP, namespace, "builds", uid=uid(held), propagation=propagation)  # type: ignore[arg-type]
    found = await cluster.get(RUNNER_GROUP, namespace, "builds")
    assert found is not None
    wanted = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}[propagation]
    assert {wanted, FINALIZER} >= set(found["metadata"]["finalizers"])
    assert found["metadata"]["deletionTimestamp"]
    await cluster.remove_finalizer(RUNNER_GROUP, namespace, "builds", FINALIZER, uid=uid(made))


async def test_a_pod_gets_the_grace_that_the_delete_names(cluster: KubernetesCluster, namespace: str) -> None:
    made = pod(namespace)
    made["spec"] |= {"nodeName": "nowhere", "terminationGracePeriodSeconds": 30}
    made = await cluster.apply(made)
    assert await cluster.delete(POD, namespace, "p", uid=uid(made), grace_seconds=7)
    found = await cluster.get(POD, namespace, "p")
    assert found is not None
    assert found["metadata"]["deletionGracePeriodSeconds"] == 7
    assert await cluster.delete(POD, namespace, "p", uid=uid(made), grace_seconds=0)
    assert await cluster.get(POD, namespace, "p") is None


async def test_a_patch_changes_single_labels_of_one_object(
    cluster: KubernetesCluster, kubectl: Kubectl, namespace: str
) -> None:
    old, new = await recreate(cluster, namespace)
    kubectl.run("label", "rnr/r", "-n", namespace, "theirs=1", "gone=1")
    patch = {"metadata": {"labels": {"leader": "true", "gone": None}}}
    assert await cluster.patch(RUNNER, namespace, "r", patch, uid=old) is None
    assert await cluster.patch(RUNNER, namespace, "nobody", patch, uid=new) is None
    after = await cluster.patch(RUNNER, namespace, "r", patch, uid=new)
    assert after is not None
    assert after["metadata"]["labels"] == {"theirs": "1", "leader": "true"}


async def test_finalizers_of_others_stay(cluster: KubernetesCluster, kubectl: Kubectl, namespace: str) -> None:
    made = uid(await cluster.apply(group(namespace)))
    theirs = '{"metadata":{"finalizers":["example.com/other"]}}'
    kubectl.run("patch", "rgrp/builds", "-n", namespace, "--type=merge", "-p", theirs)
    for _ in range(2):
        held = await cluster.add_finalizer(RUNNER_GROUP, namespace, "builds", FINALIZER, uid=made)
        assert held is not None
        assert held["metadata"]["finalizers"] == ["example.com/other", FINALIZER]
    for _ in range(2):
        freed = await cluster.remove_finalizer(RUNNER_GROUP, namespace, "builds", FINALIZER, uid=made)
        assert freed is not None
        assert freed["metadata"]["finalizers"] == ["example.com/other"]
    assert await cluster.add_finalizer(RUNNER_GROUP, namespace, "builds", FINALIZER, uid="another") is None
    kubectl.run("patch", "rgrp/builds", "-n", namespace, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


async def test_a_finalizer_that_came_in_between_is_not_lost(
    watched: KubernetesCluster, middle: Between, kubectl: Kubectl, namespace: str
) -> None:
    made = uid(await watched.apply(group(namespace)))
    theirs = '{"metadata":{"finalizers":["example.com/other"]}}'

    def other(_: object) -> None:
        kubectl.run("patch", "rgrp/builds", "-n", namespace, "--type=merge", "-p", theirs)

    middle.turns.extend([lambda _: None, other])  # after our read, before our patch
    held = await watched.add_finalizer(RUNNER_GROUP, namespace, "builds", FINALIZER, uid=made)
    assert held is not None
    assert held["metadata"]["finalizers"] == ["example.com/other", FINALIZER]
    kubectl.run("patch", "rgrp/builds", "-n", namespace, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


async def test_a_closed_gate_lets_nothing_out_and_reads_go_on(
    cluster: KubernetesCluster, control_plane: Path, audit: AuditLog, namespace: str
) -> None:
    made = uid(await cluster.apply(runner(namespace)))
    before = audit.writes(user="admin", namespace=namespace)
    access = Kubeconfig(str(control_plane / "kubeconfig"))
    async with KubernetesCluster(access, gate=lambda: False) as standby:
        for writing in (
            standby.apply(runner(namespace)),
            standby.apply(runner(namespace), dry_run=True),
            standby.create(runner(namespace, "other")),
            standby.delete(RUNNER, namespace, "r", uid=made),
            standby.patch(RUNNER, namespace, "r", {}, uid=made),
            standby.patch_status(RUNNER, namespace, "r", {"podName": "p"}, uid=made),
            standby.add_finalizer(RUNNER, namespace, "r", FINALIZER, uid=made),
        ):
            with pytest.raises(NotLeadingError, match="was not sent: another operator leads"):
                await writing
        assert uid(await standby.get(RUNNER, namespace, "r")) == made
    assert audit.writes(user="admin", namespace=namespace) == before


async def test_25_writes_at_once_and_no_more(patient: KubernetesCluster, middle: Between, namespace: str) -> None:
    middle.delay = 1.0
    await asyncio.gather(*(patient.apply(runner(namespace, f"r-{i}"), dry_run=True) for i in range(60)))
    assert middle.most_at_once == 25


async def test_reads_do_not_wait_for_writes(patient: KubernetesCluster, middle: Between, namespace: str) -> None:
    middle.delay = 1.0
    writes = [asyncio.ensure_future(patient.apply(runner(namespace, f"r-{i}"), dry_run=True)) for i in range(50)]
    await asyncio.sleep(0)
    await patient.get(RUNNER, namespace, "r")
    assert not all(write.done() for write in writes)
    await asyncio.gather(*writes)
