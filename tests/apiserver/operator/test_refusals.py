"""What the API server refuses, in its own words, and at once."""

from pathlib import Path
from typing import Any

import pytest

from apiserver.operator.between import Between
from apiserver.operator.people import account, group, kubeconfig, pod
from paceline_dev.kubectl import Kubectl
from paceline_operator.adapters.access import Kubeconfig
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.ports.errors import Cause, ForbiddenError, RefusedError
from paceline_operator.ports.resources import POD, SECRET


async def test_an_invalid_object_is_refused_with_message_and_fields(cluster: KubernetesCluster, namespace: str) -> None:
    bad = pod(namespace)
    bad["spec"]["containers"] = []
    with pytest.raises(RefusedError) as refused:
        await cluster.apply(bad)
    assert refused.value.status == 422
    assert refused.value.message == 'Pod "p" is invalid: spec.containers: Required value'
    assert refused.value.causes == (Cause("spec.containers", "FieldValueRequired", "Required value"),)
    assert str(refused.value) == (
        f'apply pods {namespace}/p was refused: Pod "p" is invalid: spec.containers: Required value (HTTP 422)'
    )


@pytest.mark.parametrize(
    ("containers", "said"),
    [
        ([{"name": "a", "image": "b", "imagee": "c"}], r'\.spec\.containers\[name="a"\]\.imagee: field not declared'),
        ("runner", r"\.spec\.containers: expected list"),
        ([{"name": "a", "image": "b"}, {"name": "a", "image": "b"}], "duplicate entries for key"),
    ],
    ids=["unknown-field", "wrong-type", "twice"],
)
async def test_a_bad_template_is_refused_at_once_although_the_api_server_calls_it_its_own_error(
    patient: KubernetesCluster, middle: Between, namespace: str, containers: Any, said: str
) -> None:
    bad = pod(namespace)
    bad["spec"]["containers"] = containers
    with pytest.raises(RefusedError, match=said) as refused:
        await patient.apply(bad, dry_run=True)
    assert refused.value.status == 500
    assert len(middle.seen) == 1, "a refusal is not repeated until the time is up"


async def test_a_rule_of_ours_is_quoted(cluster: KubernetesCluster, namespace: str) -> None:
    with pytest.raises(RefusedError, match=r"must not both be 0: set one of them to 1"):
        await cluster.apply(group(namespace, updateStrategy={"maxSurge": 0, "maxUnavailable": 0}))


async def test_a_namespace_that_is_not_there_is_named(cluster: KubernetesCluster) -> None:
    for writing in (cluster.apply(pod("no-such")), cluster.create(pod("no-such"))):
        with pytest.raises(RefusedError, match='namespaces "no-such" not found'):
            await writing


async def test_what_rbac_does_not_grant_is_forbidden(
    control_plane: Path, address: str, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    token = account(kubectl, namespace, "weak", "get,list")
    access = Kubeconfig(str(kubeconfig(tmp_path, server=address, plane=control_plane, token=token)))
    async with KubernetesCluster(access) as weak:
        assert await weak.list(POD, namespace) == []
        who = f"system:serviceaccount:{namespace}:weak"
        with pytest.raises(ForbiddenError, match=f'User "{who}" cannot patch resource "pods"') as refused:
            await weak.apply(pod(namespace))
        assert not refused.value.quota
        with pytest.raises(ForbiddenError, match='cannot get resource "secrets"'):
            await weak.read_secret(namespace, "db")
        with pytest.raises(ForbiddenError, match='cannot list resource "secrets"'):
            await weak.list(SECRET, namespace)


async def test_a_used_up_quota_is_told_from_other_prohibitions(
    cluster: KubernetesCluster, kubectl: Kubectl, namespace: str
) -> None:
    kubectl.run("create", "quota", "none", "-n", namespace, "--hard=pods=0")
    kubectl.run("wait", "quota/none", "-n", namespace, "--for=jsonpath={.status.hard.pods}=0", "--timeout=30s")
    for writing in (cluster.apply(pod(namespace)), cluster.create(pod(namespace))):
        with pytest.raises(ForbiddenError, match="exceeded quota: none, requested: pods=1") as refused:
            await writing
        assert refused.value.quota


async def test_a_token_that_nobody_knows_is_told_as_such(control_plane: Path, address: str, tmp_path: Path) -> None:
    access = Kubeconfig(str(kubeconfig(tmp_path, server=address, plane=control_plane, token="invented")))
    async with KubernetesCluster(access) as stranger:
        with pytest.raises(ForbiddenError, match="does not accept our credentials") as refused:
            await stranger.list(POD, "default")
    assert "invented" not in str(refused.value)
