"""Lists and single objects: all of them, as of now, and never an old or an empty answer in place of an error."""

import asyncio

import pytest

from apiserver.operator.between import Between
from apiserver.operator.people import condition, group, pod, runner, secret
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.ports.cluster import Manifests
from paceline_operator.ports.errors import RefusedError, UnreachableError
from paceline_operator.ports.resources import NAMESPACE, NODE, POD, RUNNER, RUNNER_GROUP, ResourceKind

UNKNOWN = ResourceKind("paceline.dev", "v1alpha1", "walkers", "Walker")


def names(found: Manifests) -> list[str]:
    return [item["metadata"]["name"] for item in found]


async def test_a_list_is_read_in_pages_and_is_whole(
    watched: KubernetesCluster, middle: Between, namespace: str
) -> None:
    await asyncio.gather(*(watched.apply(runner(namespace, f"r-{i}")) for i in range(5)))
    middle.seen.clear()
    assert names(await watched.list(RUNNER, namespace)) == [f"r-{i}" for i in range(5)]
    assert [request.query["limit"] for request in middle.seen] == ["2", "2", "2"]
    assert not any("resourceVersion" in request.query for request in middle.seen), "a read from a cache may be old"


async def test_a_list_that_expires_between_two_pages_starts_over(
    watched: KubernetesCluster, middle: Between, namespace: str
) -> None:
    await asyncio.gather(*(watched.apply(runner(namespace, f"r-{i}")) for i in range(5)))
    middle.seen.clear()
    middle.turns.extend([lambda _: None, lambda _: None, middle.say(410, reason="Expired")])
    assert names(await watched.list(RUNNER, namespace)) == [f"r-{i}" for i in range(5)]
    assert ["continue" in request.query for request in middle.seen] == [False, True, True, False, True, True]


async def test_a_list_that_always_expires_is_given_up(
    watched: KubernetesCluster, middle: Between, namespace: str
) -> None:
    await asyncio.gather(*(watched.apply(runner(namespace, f"r-{i}")) for i in range(3)))
    gone = middle.say(410, reason="Expired")
    middle.always = lambda request: gone(request) if "continue" in request.query else None
    with pytest.raises(UnreachableError, match="expired 5 times"):
        await watched.list(RUNNER, namespace)


async def test_labels_and_fields_choose(cluster: KubernetesCluster, namespace: str) -> None:
    await cluster.apply(pod(namespace, "a", labels={"paceline.dev/group": "x", "leader": "true"}))
    await cluster.apply(pod(namespace, "b", labels={"paceline.dev/group": "y"}))
    await cluster.apply(pod(namespace, "c"))
    assert names(await cluster.list(POD, namespace, labels={"paceline.dev/group": "x"})) == ["a"]
    assert names(await cluster.list(POD, namespace, labels={"paceline.dev/group": None})) == ["a", "b"]
    assert names(await cluster.list(POD, namespace, fields={"metadata.name": "c"})) == ["c"]
    assert {"a", "b"} <= set(names(await cluster.list(POD, None, labels={"paceline.dev/group": None})))
    assert namespace in names(await cluster.list(NAMESPACE, None))
    assert await cluster.list(NODE, None, labels={"nobody": "has-this"}) == []


async def test_items_of_a_list_say_what_they_are(cluster: KubernetesCluster, namespace: str) -> None:
    await cluster.apply(pod(namespace))
    (found,) = await cluster.list(POD, namespace)
    assert (found["apiVersion"], found["kind"]) == ("v1", "Pod")


async def test_fields_that_nobody_here_knows_are_kept(cluster: KubernetesCluster, namespace: str) -> None:
    template = {"spec": {"containers": [{"name": "runner", "fromTheFuture": {"a": [1]}}]}}
    await cluster.apply(group(namespace, template=template))
    found = await cluster.get(RUNNER_GROUP, namespace, "builds")
    assert found is not None
    assert found["spec"]["template"] == template


async def test_an_object_that_is_not_there_is_none(cluster: KubernetesCluster, namespace: str) -> None:
    assert await cluster.get(RUNNER, namespace, "nobody") is None
    assert await cluster.get(RUNNER, "no-such-namespace", "nobody") is None
    assert await cluster.get(NAMESPACE, None, "no-such-namespace") is None
    assert await cluster.read_secret(namespace, "nobody") is None


async def test_a_kind_that_is_not_served_is_an_error_and_not_an_absent_object(
    cluster: KubernetesCluster, namespace: str
) -> None:
    for asking in (
        cluster.get(UNKNOWN, namespace, "w"),
        cluster.list(UNKNOWN, namespace),
        cluster.delete(UNKNOWN, namespace, "w", uid="u"),
        cluster.patch(UNKNOWN, namespace, "w", {}, uid="u"),
        cluster.patch_status(UNKNOWN, namespace, "w", {"conditions": [condition("Ready")]}, uid="u"),
    ):
        with pytest.raises(RefusedError, match=r"does not serve this kind of object .* are the CRDs installed"):
            await asking


async def test_a_secret_is_decoded_and_what_is_not_text_is_left_out(cluster: KubernetesCluster, namespace: str) -> None:
    url = "postgresql://ü@db/x"
    await cluster.apply(secret(namespace, "db", {"url": url.encode(), "binary": b"\xff\xfe"}))
    found = await cluster.read_secret(namespace, "db")
    assert found is not None
    assert dict(found) == {"url": url}
    await cluster.apply(secret(namespace, "empty", {}))
    empty = await cluster.read_secret(namespace, "empty")
    assert empty is not None
    assert len(empty) == 0


async def test_a_secret_is_in_no_log_and_in_no_repr(
    watched: KubernetesCluster,
    hasty: KubernetesCluster,
    middle: Between,
    namespace: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    hidden = "hunter2hunter2"
    await watched.apply(secret(namespace, "db", {"url": hidden.encode()}))
    encoded = secret(namespace, "db", {"url": hidden.encode()})["data"]["url"]
    middle.turns.append(middle.say(503))
    found = await watched.read_secret(namespace, "db")
    assert found is not None
    assert found["url"] == hidden
    assert repr(found) == f"{found}" == "SecretData(url)"
    wrong = secret(namespace, "db", {"url": hidden.encode()}) | {"type": "other"}
    with pytest.raises(RefusedError) as refused:
        await watched.apply(wrong)
    middle.always = middle.say(500)
    with pytest.raises(UnreachableError) as failed:
        await hasty.apply(wrong)
    said = caplog.text + repr(refused.value) + str(refused.value) + repr(failed.value) + str(failed.value)
    assert f"get secrets {namespace}/db" in said, "the request itself is logged when it is repeated"
    assert hidden not in said
    assert encoded not in said
