"""With exactly the rights that are shipped: they suffice, none is a wildcard, and few writes are made."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest
import yaml

from cluster.operator.rights import as_shipped, become
from cluster.operator.site import Site
from paceline import NewJob
from paceline_dev.audit import AuditLog
from paceline_dev.rights import RBAC
from support.install import called, overlay

pytestmark = pytest.mark.timeout(300)


def roles() -> list[dict[str, object]]:
    return [each for each in yaml.safe_load_all(RBAC.read_text()) if each["kind"] in ("ClusterRole", "Role")]


def test_no_right_is_a_wildcard() -> None:
    rules = [rule for role in roles() for rule in role["rules"]]  # type: ignore[attr-defined]  # parsed YAML
    assert len(rules) >= 9
    for rule in rules:
        assert "*" not in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]
        assert not {"escalate", "bind", "impersonate", "deletecollection"} & set(rule["verbs"])
        if "secrets" in rule["resources"]:
            assert rule["verbs"] == ["get"], "nobody lists Secrets"


async def test_a_plain_life_is_four_writes_and_the_shipped_rights_suffice(site: Site, audit: AuditLog) -> None:
    who = await as_shipped(site)
    site.start_operator()
    await site.apply(site.group(2))
    await site.settled(2)
    await site.queue.enqueue_many([NewJob(kind="count", payload=number) for number in range(10)])
    await site.until(lambda: len(site.marked("runs")) == 10, "all jobs are done")
    names = {each["metadata"]["name"] for each in await site.runners()}
    await site.run("scale", "rgrp", "builds", "--replicas=0")
    await site.settled(0)
    await site.run("delete", "rgrp", "builds", "--timeout=120s")
    writes = [each for each in audit.writes(user=who) if each.namespace == site.namespace]
    assert [each for each in writes if each.code == 403] == []
    for name in names:
        own = [each for each in writes if each.name in (name, f"{name}-1") and each.resource in ("runners", "pods")]
        created = [each for each in writes if each.resource == "pods" and each.verb == "create"]
        assert len(created) == 2
        # the name of a created object is not in the request: one create of a pod belongs to each Runner
        assert Counter((each.verb, each.resource, each.subresource) for each in own if each.verb != "create") == {
            ("patch", "runners", ""): 1, ("patch", "runners", "status"): 1, ("delete", "runners", ""): 1,
        }  # fmt: skip
    assert "cannot" not in site.log()
    assert "forbidden" not in site.log().lower()
    await site.run("delete", "clusterrolebinding", site.namespace)


async def test_everything_that_goes_wrong_is_within_the_rights_too(site: Site, audit: AuditLog) -> None:
    who = await as_shipped(site)
    site.start_operator()
    await site.apply(site.group(2))
    await site.settled(2)
    first, second = sorted(await site.pod_names())
    site.node.oom_kill(site.namespace, first)
    await site.run("delete", "pod", second, "--wait=false")
    await site.until(lambda: _replaced(site, {first, second}), "both are replaced")
    await site.settled(2)
    await site.run("cordon", site.node.name)
    await site.until(lambda: _boots(site, 3), "the cordon is noticed")
    await site.run("uncordon", site.node.name)
    await site.settled(2)
    assert [each for each in audit.writes(user=who) if each.code == 403] == []
    assert "forbidden" not in site.log().lower()
    await site.run("delete", "clusterrolebinding", site.namespace)


async def test_an_operator_for_one_namespace_needs_no_right_in_the_cluster(
    site: Site, audit: AuditLog, tmp_path: Path
) -> None:
    around = overlay(tmp_path, "namespaced", site.namespace, called(site.install))
    made = [*yaml.safe_load_all(await site.run("kustomize", around))]
    (deployment,) = [each for each in made if each["kind"] == "Deployment"]
    rights = [each for each in made if each["kind"] in ("ServiceAccount", "Role", "RoleBinding")]
    assert len(rights) == 5
    await asyncio.to_thread(site.kubectl.run, "apply", "-f", "-", stdin=yaml.safe_dump_all(rights))
    who = await become(site)
    environment = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    variables = {each["name"]: each["value"] for each in environment if "value" in each}
    assert variables["PACELINE_INSTALL"] == site.install, "so its Lease is called after that"
    site.start_operator(**variables)
    await site.apply(site.group(1))
    await site.settled(1)
    await site.run("delete", "rgrp", "builds", "--timeout=120s")
    assert [each for each in audit.writes(user=who) if each.code == 403] == []
    assert "forbidden" not in site.log().lower()


async def _replaced(site: Site, old: set[str]) -> bool:
    return not old & await site.pod_names()


async def _boots(site: Site, number: int) -> bool:
    return any(name.endswith(f"-{number}") for name in await site.pod_names())
