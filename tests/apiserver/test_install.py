"""What `kubectl apply -k` installs, on a real API server: it is accepted, it may do what it must, its pods may run."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from paceline_dev import REPOSITORY
from paceline_dev.kubectl import Kubectl
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.objects import build_pod
from support.install import overlay

pytestmark = pytest.mark.usefixtures("crds")

GROUPS = {
    "sample": REPOSITORY / "manifests" / "samples" / "runnergroup.yaml",
    "example": REPOSITORY / "runner-image" / "examples" / "runnergroup.yaml",
}
RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"


def may(kubectl: Kubectl, who: str, *what: str) -> bool:
    return kubectl.run("auth", "can-i", *what, f"--as={who}", check=False).stdout.strip() == "yes"


def will(kubectl: Kubectl, who: str, *what: str) -> bool:
    """Whether somebody may do something by and by: the authorizer hears of a new binding a moment later."""
    until = time.monotonic() + 60
    while not (found := may(kubectl, who, *what)) and time.monotonic() < until:
        time.sleep(0.1)
    return found


@pytest.fixture
def restricted(kubectl: Kubectl, namespace: str) -> str:
    kubectl.run("label", "namespace", namespace, RESTRICTED)
    return namespace


@pytest.fixture
def everywhere(kubectl: Kubectl, namespace: str, tmp_path: Path) -> Iterator[str]:
    """The cluster-wide install, in the test's namespace; what belongs to no namespace is taken away again."""
    folder = overlay(tmp_path, "cluster-wide", namespace)
    kubectl.run("apply", "-k", folder)
    yield namespace
    kubectl.run("delete", "clusterrole,clusterrolebinding", "--selector=app.kubernetes.io/name=paceline")


def test_an_operator_for_the_whole_cluster_is_accepted_and_its_pod_too(kubectl: Kubectl, everywhere: str) -> None:
    labels = kubectl.json("get", "namespace", everywhere)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    pod = "--selector=app.kubernetes.io/component=operator"
    kubectl.run("wait", "pod", "-n", everywhere, pod, "--for=create", "--timeout=30s")
    service = kubectl.json("get", "service", "paceline-operator", "-n", everywhere)
    found = kubectl.json("get", "pod", "-n", everywhere, pod)["items"][0]
    assert service["spec"]["selector"].items() <= found["metadata"]["labels"].items()
    who = f"system:serviceaccount:{everywhere}:paceline-operator"
    assert will(kubectl, who, "patch", "runnergroups.paceline.dev/status", "--all-namespaces")
    assert will(kubectl, who, "create", "pods", "--all-namespaces")
    assert will(kubectl, who, "watch", "nodes")
    assert will(kubectl, who, "patch", "leases.coordination.k8s.io/paceline-operator", "-n", everywhere)
    assert not may(kubectl, who, "patch", "leases.coordination.k8s.io/another", "-n", everywhere)
    assert not may(kubectl, who, "patch", "leases.coordination.k8s.io/paceline-operator", "-n", "kube-system")
    assert not may(kubectl, who, "list", "customresourcedefinitions.apiextensions.k8s.io")
    assert not may(kubectl, who, "list", "secrets", "--all-namespaces")
    assert not may(kubectl, who, "list", "namespaces")
    assert not may(kubectl, who, "create", "deployments.apps", "-n", everywhere)


def test_an_operator_for_one_namespace_has_no_right_elsewhere(
    kubectl: Kubectl, restricted: str, tmp_path: Path
) -> None:
    said = kubectl.run("apply", "-k", overlay(tmp_path, "namespaced", restricted)).stdout
    assert "clusterrole" not in said
    assert "customresourcedefinition" not in said
    pod = "--selector=app.kubernetes.io/component=operator"
    kubectl.run("wait", "pod", "-n", restricted, pod, "--for=create", "--timeout=30s")
    found = kubectl.json("get", "pod", "-n", restricted, pod)["items"][0]
    environment = {each["name"]: each for each in found["spec"]["containers"][0]["env"]}
    assert environment["PACELINE_NAMESPACES"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.namespace"
    assert environment["PACELINE_WATCH_NODES"]["value"] == "false"
    assert environment["PACELINE_POD_IP"]["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
    who = f"system:serviceaccount:{restricted}:paceline-operator"
    assert will(kubectl, who, "create", "pods", "-n", restricted)
    assert will(kubectl, who, "patch", "runnergroups.paceline.dev/status", "-n", restricted)
    for what in (("create", "pods", "-n", "default"), ("get", "secrets", "-n", "default"), ("list", "nodes")):
        assert not may(kubectl, who, *what)


def test_a_gateway_may_run_there_and_has_no_right_at_all(kubectl: Kubectl, restricted: str, tmp_path: Path) -> None:
    kubectl.run("apply", "-k", overlay(tmp_path, "gateway", restricted))
    pod = "--selector=app.kubernetes.io/component=gateway"
    kubectl.run("wait", "pod", "-n", restricted, pod, "--for=create", "--timeout=30s")
    found = kubectl.json("get", "pod", "-n", restricted, pod)["items"][0]
    assert [each["name"] for each in found["spec"]["volumes"]] == ["database"], "no token is mounted"
    service = kubectl.json("get", "service", "paceline-gateway", "-n", restricted)
    assert service["spec"]["selector"].items() <= found["metadata"]["labels"].items()
    budget = kubectl.json("get", "poddisruptionbudget", "paceline-gateway", "-n", restricted)
    assert budget["spec"]["selector"]["matchLabels"].items() <= found["metadata"]["labels"].items()
    who = f"system:serviceaccount:{restricted}:paceline-gateway"
    for what in (("get", "pods"), ("get", "secrets"), ("list", "runnergroups.paceline.dev")):
        assert not may(kubectl, who, *what, "-n", restricted)


def test_monitoring_is_one_kustomization_with_the_dashboard_in_it(kubectl: Kubectl) -> None:
    said = kubectl.run("kustomize", str(REPOSITORY / "manifests" / "monitoring")).stdout
    built = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(said)}
    assert len(built) == 5
    assert {each["metadata"]["namespace"] for each in built.values()} == {"paceline-system"}
    board = built["ConfigMap", "paceline-dashboard"]
    assert board["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(board["data"]["paceline.json"])["uid"] == "paceline"
    monitor = built["ServiceMonitor", "paceline-operator"]
    assert monitor["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"] == "operator"


def test_the_crds_can_be_applied_as_files_and_as_a_kustomization(kubectl: Kubectl) -> None:
    for option in ("-f", "-k"):
        said = kubectl.run("apply", option, str(REPOSITORY / "crds"), "--dry-run=server").stdout
        assert len(said.splitlines()) == 2


def runner_pod(group: str, namespace: str, template: object = None) -> dict[str, Any]:
    """The pod that the operator makes for a group, with its own template or another one."""
    document = yaml.safe_load(GROUPS[group].read_text())
    document["metadata"] |= {"namespace": namespace, "uid": "u"}
    if template is not None:
        document["spec"]["template"] = template
    pod: dict[str, Any] = build_pod(RunnerGroup.model_validate(document), "builds-x2k4b", "u", 1, "here")
    return pod


def with_context(**context: object) -> dict[str, Any]:
    """The shortest template, with that security context if any."""
    more = {"securityContext": context} if context else {}
    return {"spec": {"containers": [{"name": "runner", "image": "i", **more}]}}


def create(kubectl: Kubectl, pod: dict[str, Any]) -> str:
    """What the API server says against a pod; nothing if it takes it."""
    namespace = pod["metadata"]["namespace"]
    made = kubectl.run("create", "-n", namespace, "-f", "-", "--dry-run=server", stdin=json.dumps(pod), check=False)
    return "" if made.returncode == 0 else made.stderr


@pytest.mark.parametrize("group", GROUPS)
def test_a_runners_pod_may_run_in_a_restricted_namespace(kubectl: Kubectl, restricted: str, group: str) -> None:
    assert create(kubectl, runner_pod(group, restricted)) == ""


def test_a_template_that_says_nothing_about_security_may_run_there_too(kubectl: Kubectl, restricted: str) -> None:
    pod = runner_pod("sample", restricted, with_context())
    assert create(kubectl, pod) == ""
    (runner,) = pod["spec"]["containers"]
    del pod["spec"]["securityContext"], runner["securityContext"]
    assert 'violates PodSecurity "restricted' in create(kubectl, pod)


@pytest.mark.parametrize(
    "context",
    [
        {"privileged": True},
        {"capabilities": {"add": ["SYS_ADMIN"]}},
        {"runAsUser": 0},
        {"allowPrivilegeEscalation": True},
    ],
    ids=lambda context: next(iter(context)),
)
def test_what_is_filled_in_never_makes_a_template_invalid(
    kubectl: Kubectl, namespace: str, context: dict[str, object]
) -> None:
    assert create(kubectl, runner_pod("sample", namespace, with_context(**context))) == ""
