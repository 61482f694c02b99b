"""What others do to our objects, and to the API itself, while the operator runs."""

import asyncio

import pytest

from cluster.operator.site import Site

pytestmark = pytest.mark.timeout(300)


async def test_a_budget_that_somebody_edits_or_deletes_comes_back(operated: Site) -> None:
    site = operated
    await site.apply(site.group(3))
    await site.settled(3)
    await site.run("patch", "pdb", "builds", "--type=merge", "-p", '{"spec":{"minAvailable":0}}')
    await site.run("annotate", "rgrp", "builds", "wake=1")
    await site.until(lambda: _least(site, 2), "it is as it was")
    await site.run("delete", "pdb", "builds")
    await site.run("annotate", "rgrp", "builds", "wake=2", "--overwrite")
    await site.until(lambda: _least(site, 2), "it is there again")


async def _least(site: Site, number: int) -> bool:
    found = await site.run("get", "pdb", "builds", "-o", "jsonpath={.spec.minAvailable}")
    return found.strip() == str(number)


async def test_our_finalizer_stays_and_no_other_is_added(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    path = f"/apis/paceline.dev/v1alpha1/namespaces/{site.namespace}"
    group = (await site.api.get(f"{path}/runnergroups/builds"))["metadata"]
    assert group["finalizers"] == ["paceline.dev/cleanup"]
    assert not [key for key in group.get("annotations", {}) if "kopf" in key or "last-handled" in key]
    for each in [*await site.runners(), *await site.pods()]:
        assert "finalizers" not in each["metadata"]
        assert not [key for key in each["metadata"].get("annotations", {}) if key.startswith("paceline.dev/")]


async def test_a_status_that_somebody_writes_is_put_right(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    await site.run(
        "patch", "rgrp", "builds", "--subresource=status", "--type=merge", "-p", '{"status":{"replicas":77}}'
    )
    await site.until(lambda: _replicas(site, 1), "the right number is there")


async def _replicas(site: Site, number: int) -> bool:
    return (await site.status()).get("replicas") == number


async def test_a_namespace_that_is_deleted_goes_with_its_groups(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1, drain={"timeoutSeconds": 5}))
    await site.settled(1)
    deleting = asyncio.create_task(asyncio.to_thread(
        site.kubectl.run, "delete", "namespace", site.namespace, "--timeout=180s", check=False
    ))  # fmt: skip
    done = await deleting
    assert done.returncode == 0, done.stderr + site.log()[-2000:]
    assert await site.queue.database.value("SELECT count(*) FROM paceline.runner_group") == 0


async def test_a_runner_that_somebody_made_is_given_a_pod_or_retired(operated: Site) -> None:
    """A Runner of the group that we did not number counts like any other."""
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    group = await site.api.get(f"/apis/paceline.dev/v1alpha1/namespaces/{site.namespace}/runnergroups/builds")
    owner = {
        "apiVersion": group["apiVersion"],
        "kind": "RunnerGroup",
        "name": "builds",
        "uid": group["metadata"]["uid"],
    }
    await site.apply({
        "apiVersion": "paceline.dev/v1alpha1", "kind": "Runner",
        "metadata": {"name": "mine", "namespace": site.namespace, "labels": {"paceline.dev/group": "builds"},
                     "ownerReferences": [{**owner, "controller": True}]},
        "spec": {"groupRef": {"name": "builds"}},
    })  # fmt: skip
    await site.settled(1)
    await site.until(lambda: _count(site, 1), "one Runner is left")


async def _count(site: Site, number: int) -> bool:
    return len(await site.runners()) == number
