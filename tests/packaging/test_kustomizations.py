"""What the kustomizations make: every pod restricted, probed, limited and shut off, no right beyond the base's."""

import base64
import json
import os
import re
from pathlib import Path

import pytest
import yaml

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.images.recipe import OPERATOR, default_tag
from paceline_dev.install import everything, kept
from paceline_dev.kubectl import Kubectl
from paceline_operator.handlers.settings import DEFAULT_INSTALL
from support.charts import NOT_IN_THE_CHART, Json, kustomized
from support.install import called, on_the_page, overlay

pytestmark = pytest.mark.timeout(300)

MANIFESTS = REPOSITORY / "manifests"
INSTALLS = ["cluster-wide", "namespaced", "gateway", "external-metrics", "ha", "dev"]
installs = pytest.mark.parametrize("install", INSTALLS)
RIGHTS = ("Role", "ClusterRole")
WAY_OUT = REPOSITORY / "docs" / "how-to" / "upgrade.md"
MIGRATE = ("ServiceAccount", "Job", "NetworkPolicy")
KUBERNETES_OWN = ("Role", "extension-apiserver-authentication-reader")
"""To read who signs the API server's certificates; for external metrics."""


def workloads(documents: list[Json]) -> dict[str, Json]:
    """The pod template of each, by kind and name."""
    return {
        f"{each['kind']}/{each['metadata']['name']}": each["spec"]["template"]
        for each in documents
        if each["kind"] in ("Deployment", "StatefulSet", "Job")
    }


def rules(documents: list[Json]) -> set[str]:
    return {json.dumps(rule) for each in documents if each["kind"] in RIGHTS for rule in each["rules"]}


def only(documents: list[Json], kind: str, name: str) -> Json:
    (found,) = [each for each in documents if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def test_there_is_no_install_that_is_not_looked_at() -> None:
    folders = {path.parent.name for path in MANIFESTS.glob("*/kustomization.yaml")}
    components = {"migrate", "database-ca", "webhooks"}
    assert folders == {*INSTALLS, *components, "base", "samples", "monitoring"}, "tests/monitoring has the last"


@installs
def test_every_pod_is_restricted_probed_and_limited(kubectl: Kubectl, install: str) -> None:
    found = workloads(kustomized(kubectl, MANIFESTS / install))
    assert found
    for name, template in found.items():
        pod, (container,) = template["spec"], template["spec"]["containers"]
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}, name
        assert container["resources"]["limits"].keys() == {"memory"}, name
        if not name.startswith("Job/"):
            assert {"readinessProbe", "livenessProbe"} <= container.keys(), name


@installs
def test_every_pod_has_a_policy_that_lets_in_what_its_ports_are_for(kubectl: Kubectl, install: str) -> None:
    documents = kustomized(kubectl, MANIFESTS / install)
    for name, template in workloads(documents).items():
        labels = template["metadata"]["labels"].items()
        policies = [
            each["spec"]
            for each in documents
            if each["kind"] == "NetworkPolicy" and each["spec"]["podSelector"]["matchLabels"].items() <= labels
        ]
        assert policies, name
        assert all(each["policyTypes"] == ["Ingress"] for each in policies)
        allowed = [port["port"] for each in policies for way in each.get("ingress", ()) for port in way["ports"]]
        (container,) = template["spec"]["containers"]
        assert sorted(allowed) == sorted(each["name"] for each in container.get("ports", ())), name


@installs
def test_no_install_gives_a_right_that_the_base_does_not_name(kubectl: Kubectl, install: str) -> None:
    documents = kustomized(kubectl, MANIFESTS / install)
    assert rules(documents) <= rules(kustomized(kubectl, MANIFESTS / "base"))
    assert not any("*" in rule for rule in rules(documents))
    known = {(each["kind"], each["metadata"]["name"]) for each in documents if each["kind"] in RIGHTS}
    for each in documents:
        if each["kind"].endswith("RoleBinding"):
            assert [who["name"] for who in each["subjects"]] == ["paceline-operator"]
            assert (each["roleRef"]["kind"], each["roleRef"]["name"]) in {*known, KUBERNETES_OWN}


@pytest.mark.parametrize("part", ["operator", "gateway"])
def test_two_of_each_are_on_two_nodes_and_no_drain_takes_both(kubectl: Kubectl, part: str) -> None:
    documents = kustomized(kubectl, MANIFESTS / "ha")
    spec = only(documents, "Deployment", f"paceline-{part}")["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["replicas"] == 2
    assert spec["template"]["spec"]["topologySpreadConstraints"] == [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "nodeTaintsPolicy": "Honor",
            "matchLabelKeys": ["pod-template-hash"],
            "labelSelector": {"matchLabels": labels},
        }
    ]
    budget = only(documents, "PodDisruptionBudget", f"paceline-{part}")["spec"]
    assert budget == {"maxUnavailable": 1, "selector": {"matchLabels": labels}}


def wrapped(kubectl: Kubectl, folder: Path, page: Json) -> dict[tuple[str, str], str]:
    """Where a kustomization of the install page puts things: the namespace of each, by kind and name."""
    ours = {
        key: [os.path.relpath(MANIFESTS / Path(name).name, folder) for name in page[key]]
        for key in ("resources", "components")
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({**page, **ours}))
    return {
        (each["kind"], each["metadata"]["name"]): each["metadata"].get("namespace", "")
        for each in kustomized(kubectl, folder)
    }


def around(folder: str) -> Json:
    """The kustomization that the install page puts around a folder."""
    read: Json = yaml.safe_load(on_the_page(f"resources:\n  - path/to/paceline/manifests/{folder}\n"))
    return read


@pytest.mark.parametrize("install", ["cluster-wide", "external-metrics", "ha"])
def test_what_a_user_puts_around_an_install_moves_nothing_of_it(kubectl: Kubectl, tmp_path: Path, install: str) -> None:
    found = wrapped(kubectl, tmp_path, {**around("ha"), "resources": [install]})
    alone = kustomized(kubectl, MANIFESTS / install)
    as_alone = {(each["kind"], each["metadata"]["name"]): each["metadata"].get("namespace", "") for each in alone}
    assert {key: found[key] for key in as_alone} == as_alone
    more = {key: namespace for key, namespace in found.items() if key not in as_alone}
    assert more == dict.fromkeys([(kind, "paceline-migrate") for kind in MIGRATE], "paceline-system")
    reader = found.get(("RoleBinding", "paceline-operator-authentication-reader"))
    assert reader == ("kube-system" if install == "external-metrics" else None)


def test_what_a_user_puts_around_the_namespaced_install_moves_all_of_it(kubectl: Kubectl, tmp_path: Path) -> None:
    page = around("namespaced")
    found = wrapped(kubectl, tmp_path, {**page, "components": ["migrate"]})
    assert ("Job", "paceline-migrate") in found
    assert set(found.values()) == {page["namespace"]}


@pytest.mark.parametrize("install", ["cluster-wide", "external-metrics", "ha"])
def test_the_way_out_takes_what_does_not_go_with_the_namespace(kubectl: Kubectl, install: str) -> None:
    (named,) = re.findall(r"^\$ kubectl delete (\S+) --all-namespaces -l app", WAY_OUT.read_text(), re.MULTILINE)
    left = {
        f"{each['kind'].lower()}s"
        for each in kustomized(kubectl, MANIFESTS / install)
        if each["metadata"].get("namespace") != "paceline-system" and each["kind"] not in NOT_IN_THE_CHART
    }
    assert left <= set(named.split(","))


def leases(documents: list[Json]) -> list[tuple[list[str], list[str] | None]]:
    """What may be done with Leases, and with which of them."""
    return [
        (rule["verbs"], rule.get("resourceNames"))
        for each in documents
        if each["kind"] in RIGHTS
        for rule in each["rules"]
        if "leases" in rule["resources"]
    ]


@installs
def test_an_operator_may_write_its_own_lease_and_no_other(kubectl: Kubectl, install: str) -> None:
    documents = kustomized(kubectl, MANIFESTS / install)
    own = [(["get", "patch"], [f"{DEFAULT_INSTALL}-operator"]), (["create"], None)]
    assert leases(documents) == ([] if install == "gateway" else own)


@pytest.mark.parametrize("install", ["cluster-wide", "namespaced"])
def test_an_operator_of_another_name_may_write_the_lease_that_is_called_after_it(
    kubectl: Kubectl, tmp_path: Path, install: str
) -> None:
    documents = kustomized(kubectl, Path(overlay(tmp_path, install, "x", called("west"))))
    env = only(documents, "Deployment", "paceline-operator")["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "PACELINE_INSTALL", "value": "west"} in env
    assert leases(documents) == [(["get", "patch"], ["west-operator"]), (["create"], None)]


def test_a_group_in_dev_finds_its_database_and_its_tables(kubectl: Kubectl) -> None:
    documents = kustomized(kubectl, MANIFESTS / "dev")
    assert {each["metadata"]["namespace"] for each in documents if "namespace" in each["metadata"]} == {
        "paceline-system"
    }
    for part in ("operator", "gateway"):
        assert only(documents, "Deployment", f"paceline-{part}")["spec"]["replicas"] == 1
    (group,) = [each for each in documents if each["kind"] == "RunnerGroup"]
    sample = yaml.safe_load((MANIFESTS / "samples" / "runnergroup.yaml").read_text())
    assert group["spec"] == sample["spec"]
    secrets = {
        each["metadata"]["name"]: {key: base64.b64decode(value).decode() for key, value in each["data"].items()}
        for each in documents
        if each["kind"] == "Secret"
    }
    service = only(documents, "Service", "paceline-dev-postgres")
    password = secrets["paceline-dev-postgres"]["password"]
    assert "not-a-secret" in password
    wanted = f"postgresql://postgres:{password}@{service['metadata']['name']}:5432/paceline"
    for name in (group["spec"]["database"]["secretRef"]["name"], "paceline-gateway", "paceline-migrate"):
        assert secrets[name] == {"url": wanted}
    postgres = only(documents, "StatefulSet", "paceline-dev-postgres")["spec"]
    variables = {each["name"]: each for each in postgres["template"]["spec"]["containers"][0]["env"]}
    assert variables["POSTGRES_DB"]["value"] == "paceline"
    assert service["spec"]["selector"] == postgres["selector"]["matchLabels"]


def test_the_tables_are_made_by_the_operators_own_image_with_a_login_of_its_own(kubectl: Kubectl) -> None:
    template = workloads(kustomized(kubectl, MANIFESTS / "dev"))["Job/paceline-migrate"]
    (container,) = template["spec"]["containers"]
    assert container["image"] == f"{OPERATOR.name}:{default_tag()}"
    assert container["args"] == ["migrate"]
    (variable,) = container["env"]
    assert variable == {
        "name": "PACELINE_DATABASE_URL",
        "valueFrom": {"secretKeyRef": {"name": "paceline-migrate", "key": "url"}},
    }
    assert template["spec"]["automountServiceAccountToken"] is False


def test_the_committed_files_are_what_manifests_and_models_say(kubectl: Kubectl) -> None:
    assert [line for each in everything(kubectl.program) for line in each.drift()] == []


def test_the_one_file_is_the_cluster_wide_install(kubectl: Kubectl) -> None:
    whole = list(yaml.safe_load_all((MANIFESTS / "install.yaml").read_text()))
    assert whole == kustomized(kubectl, MANIFESTS / "cluster-wide")
    assert {each["kind"] for each in whole} >= {"Namespace", "CustomResourceDefinition", "Deployment", "ClusterRole"}


def test_a_crd_that_helm_would_misread_is_refused() -> None:
    with pytest.raises(DevError, match=r"x.yaml: Helm would take \{\{ for its own"):
        kept("x.yaml", "\nmetadata:\n  name: a\nspec: {{ a }}\n")
