"""What a cluster must be able to do before anything of ours runs on it."""

import json
from collections import Counter

import pytest

from paceline_dev.kind.cluster import Cluster

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def pods(cluster: Cluster, web: str) -> list[str]:
    """The names of the three pods."""
    return cluster.kubectl("-n", web, "get", "pods", "-o", "jsonpath={.items[*].metadata.name}").stdout.split()


def inside(cluster: Cluster, web: str, pod: str, *command: str) -> str:
    return cluster.kubectl("-n", web, "exec", pod, "--", "/probe", *command).stdout


def test_every_node_is_ready(cluster: Cluster) -> None:
    nodes = json.loads(cluster.kubectl("get", "nodes", "-o", "json").stdout)["items"]
    assert sorted(node["metadata"]["name"] for node in nodes) == cluster.nodes
    for node in nodes:
        assert {"type": "Ready", "status": "True"}.items() <= node["status"]["conditions"][-1].items()


def test_a_pod_of_a_loaded_image_logs_and_can_be_entered(cluster: Cluster, web: str, pods: list[str]) -> None:
    assert cluster.kubectl("-n", web, "logs", pods[0]).stdout == f"{pods[0]} serves\n"
    entered = cluster.kubectl("-n", web, "exec", "-i", pods[0], "--", "/probe", "echo", stdin="there and back")
    assert entered.stdout == "there and back"


def test_pods_reach_each_other_across_nodes(cluster: Cluster, web: str, pods: list[str]) -> None:
    items = json.loads(cluster.kubectl("-n", web, "get", "pods", "-o", "json").stdout)["items"]
    if len(cluster.nodes) > 1:
        assert len({item["spec"]["nodeName"] for item in items}) > 1
    for item in items:
        answer = inside(cluster, web, pods[0], "get", f"http://{item['status']['podIP']}:8080", "1")
        assert answer.strip() == item["metadata"]["name"]


def test_a_service_by_its_name_reaches_all_of_its_pods(cluster: Cluster, web: str, pods: list[str]) -> None:
    """With one of the libraries of iptables missing only Services with a single endpoint would work."""
    answers = Counter(inside(cluster, web, pods[0], "get", f"http://web.{web}.svc.cluster.local", "60").split())
    assert set(answers) == set(pods)
    assert answers.total() == 60


def test_a_pod_reaches_the_api_server_by_its_service(cluster: Cluster, web: str, pods: list[str]) -> None:
    assert json.loads(inside(cluster, web, pods[0], "api", "/version"))["gitVersion"].startswith("v1.")


def test_kube_proxy_writes_its_rules(cluster: Cluster) -> None:
    log = cluster.kubectl("-n", "kube-system", "logs", "-l", "k8s-app=kube-proxy", "--tail=-1").stdout
    assert log
    assert "Sync failed" not in log
    assert "Failed to execute" not in log
