"""The shipped rights are exactly those that are used: one life of an operator for all namespaces, by the audit log.

It has a control plane of its own, as it would look after the groups of all other tests too.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml

from cluster.local import local_node
from cluster.operator.rolling import QUICK, changed, rolled
from cluster.operator.site import Everywhere, Site, ended, shop
from cluster.place import Json
from paceline.queue import Queue
from paceline.testing.scratch import free_ports
from paceline_dev import REPOSITORY
from paceline_dev.binaries import find_binaries
from paceline_dev.control_plane import NODE_KUBECONFIG, ControlPlane
from paceline_dev.kind.install import SYSTEM
from paceline_dev.node.api import Api
from paceline_dev.progress import stderr_reporter
from paceline_operator.adapters.access import Kubeconfig
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.adapters.events import UPDATE_SECONDS, Events
from paceline_operator.handlers.settings import DEFAULT_INSTALL
from paceline_operator.ports.errors import ConflictError
from paceline_operator.ports.resources import RUNNER
from support.plane import own_namespace

pytestmark = pytest.mark.timeout(300)
WHO = f"system:serviceaccount:{SYSTEM}:paceline-operator"
INSTALL = REPOSITORY / "manifests" / "external-metrics"
"""The install with the most rights."""
RIGHTS = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
TRUST = ("get", "", "configmaps")
"""Whom to trust, by Kubernetes' own role extension-apiserver-authentication-reader; for external metrics."""
LABEL = "paceline.dev/group"

LEASES = "leases"
ANY = "*"

Right = tuple[str, str, str]


class Shipped(Everywhere):
    """Under the name for which the rights are shipped."""

    @property
    def install(self) -> str:
        return DEFAULT_INSTALL


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane.start(find_binaries(stderr_reporter())) as plane:
        plane.kubectl.teach()
        yield plane


@pytest.fixture(scope="module")
def rules(plane: ControlPlane) -> list[Json]:
    """What the install allows, which is in force from now on."""
    said = plane.kubectl.run("kustomize", str(INSTALL)).stdout
    made = [each for each in yaml.safe_load_all(said) if each["kind"] in RIGHTS]
    made.sort(key=lambda each: each["kind"] != "Namespace")
    plane.kubectl.run("apply", "-f", "-", stdin=yaml.safe_dump_all(made))
    return [rule for each in made for rule in each.get("rules", ())]


@pytest.fixture(scope="module")
def shipped(rules: list[Json]) -> set[Right]:
    """Every right that the install gives."""
    return {
        (verb, group, resource)
        for rule in rules
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


@pytest.fixture
async def site(
    plane: ControlPlane, shipped: set[Right], queue: Queue, migrated: str, tmp_path: Path
) -> AsyncIterator[Site]:
    """Somewhere in that cluster; the operator is the service account with these rights."""
    token = plane.kubectl.run("create", "token", "paceline-operator", "-n", SYSTEM).stdout.strip()
    config = json.loads(plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    (own := tmp_path / "operator.kubeconfig").write_text(json.dumps(config))
    with own_namespace(plane.kubectl) as namespace:
        async with await Api.connect(plane.kubeconfig) as api, local_node(plane.folder / NODE_KUBECONFIG)() as node:
            node.add_image("shop", shop(tmp_path))
            made = Shipped(api, plane.kubectl, own, namespace, node, queue, migrated, tmp_path)
            (made.port,) = free_ports(1)
            await made.secret()
            try:
                yield made
            finally:
                ended(made.processes)


def used(plane: ControlPlane) -> set[Right]:
    """What it took so far."""
    return {right for each in plane.audit.requests(WHO) for right in each.rights}


def leases_of(rules: list[Json]) -> set[tuple[str, str]]:
    """What may be done with Leases that are there, and with which."""
    return {
        (verb, name)
        for rule in rules
        if LEASES in rule["resources"]
        for verb in rule["verbs"]
        if verb != "create"
        for name in rule.get("resourceNames", [ANY])
    }


async def test_every_right_is_used_and_nothing_is_refused(
    site: Site, plane: ControlPlane, rules: list[Json], shipped: set[Right]
) -> None:
    site.start_operator(PACELINE_EXTERNAL_METRICS=f"127.0.0.1:{free_ports(1)[0]}")
    await _life(site, plane)
    async with KubernetesCluster(Kubeconfig(str(site.kubeconfig))) as cluster:
        await _seldom(site, cluster)
    await site.run("delete", "rgrp", "builds", "--timeout=180s")
    with contextlib.suppress(AssertionError):  # what is missing says more
        await site.until(lambda: used(plane) >= shipped, "all are used")
    assert shipped - used(plane) == set(), "nobody needs these: take them out"
    assert used(plane) - shipped == {TRUST}
    touched = {(each.verb, each.name) for each in plane.audit.requests(WHO) if each.resource == LEASES}
    assert leases_of(rules) == {(verb, name) for verb, name in touched if verb != "create"}, "its own Lease alone"
    assert [each for each in plane.audit.requests(WHO) if each.code == 403] == []
    assert "forbidden" not in site.log().lower()


async def _life(site: Site, plane: ControlPlane) -> None:
    """A group with a leader comes, is updated, restarted, robbed of a label, and scaled."""
    group = site.group(1, dispatch="Leader", updateStrategy={**QUICK, "revisionHistoryLimit": 0})
    await site.apply(group)
    await site.says("LeaderElected", "Elected")
    first = (await site.settled(1))["currentRevision"]
    for pod in await site.pods():
        _has_no_way_to_the_api_server(pod)
    await site.apply(changed(group, VERSION="2"))
    await rolled(site, 1, first)
    (name,) = [each["metadata"]["name"] for each in await site.pods() if "deletionTimestamp" not in each["metadata"]]
    await site.run("label", "pod", name, f"{LABEL}-")
    await site.until(lambda: ("get", "", "pods") in used(plane), "it asks for the pod that is not in the list")
    await site.run("label", "pod", name, f"{LABEL}=builds", "--overwrite")
    await site.settled(1)
    await site.run("scale", "rgrp", "builds", "--replicas=2")
    await site.settled(2)
    await site.run("scale", "rgrp", "builds", "--replicas=1")
    await site.settled(1)


def _has_no_way_to_the_api_server(pod: Json) -> None:
    volumes = [each["name"] for each in pod["spec"].get("volumes", ())]
    assert (pod["spec"]["automountServiceAccountToken"], volumes) == (False, []), "a runner has no right at all"


async def _seldom(site: Site, cluster: KubernetesCluster) -> None:
    """What an operator does only after a conflict, or a minute later, done by its own hands with its own rights."""
    (runner,) = await site.runners()
    meta = runner["metadata"]
    with pytest.raises(ConflictError):
        await cluster.patch_status(
            RUNNER, site.namespace, meta["name"], {}, uid=meta["uid"], resource_version="1"
        )  # fmt: skip
    clock = iter((0.0, UPDATE_SECONDS + 1))
    events = Events(cluster, "least", clock=lambda: next(clock))
    for _ in range(2):
        await events.post({**runner, "kind": "Runner"}, "Normal", "Again", "the same words", "Say")
