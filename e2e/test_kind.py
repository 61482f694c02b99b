"""What a cluster must be able to do before anything of ours runs on it."""

import json
import time
from collections import Counter

import pytest

from paceline_dev.kind.cluster import Cluster

pytestmark = pytest.mark.timeout(900)
PATIENCE = 120


@pytest.fixture
def pods(cluster: Cluster, web: str) -> list[str]:
    """The names of the three pods."""
    return cluster.kubectl("-n", web, "get", "pods", "-o", "jsonpath={.items[*].metadata.name}").stdout.split()


def inside(cluster: Cluster, web: str, pod: str, *command: str) -> str:
    return cluster.kubectl("-n", web, "exec", pod, "--", "/probe", *command).stdout


def until_it_answers(cluster: Cluster, web: str, pod: str, url: str) -> None:
    """kube-proxy of each node writes its rules when it hears of a Service."""
    end = time.monotonic() + PATIENCE
    while cluster.kubectl("-n", web, "exec", pod, "--", "/probe", "get", url, "1", check=False).returncode:
        assert time.monotonic() < end, f"{url} was never answered"


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
    url, end = f"http://web.{web}.svc.cluster.local", time.monotonic() + PATIENCE
    until_it_answers(cluster, web, pods[0], url)
    while set(answers := Counter(inside(cluster, web, pods[0], "get", url, "60").split())) != set(pods):
        assert time.monotonic() < end, answers
    assert answers.total() == 60


def test_a_port_of_every_node_reaches_the_pods_also_where_there_is_none(
    cluster: Cluster, web: str, pods: list[str]
) -> None:
    run = ("-n", web)
    cluster.kubectl(
        *run, "expose", "deployment", "web", "--name=outside", "--type=NodePort", "--port=80", "--target-port=8080"
    )
    port = cluster.kubectl(*run, "get", "service", "outside", "-o", "jsonpath={.spec.ports[0].nodePort}").stdout
    nodes = json.loads(cluster.kubectl("get", "nodes", "-o", "json").stdout)["items"]
    addresses = [
        each["address"] for node in nodes for each in node["status"]["addresses"] if each["type"] == "InternalIP"
    ]
    assert len(addresses) == len(cluster.nodes)
    for address in addresses:
        until_it_answers(cluster, web, pods[0], f"http://{address}:{port}")
        answers = inside(cluster, web, pods[0], "get", f"http://{address}:{port}", "10").split()
        assert set(answers) <= set(pods)
        assert len(answers) == 10


def test_a_pod_reaches_the_api_server_by_its_service(cluster: Cluster, web: str, pods: list[str]) -> None:
    assert json.loads(inside(cluster, web, pods[0], "api", "/version"))["gitVersion"].startswith("v1.")


def test_kube_proxy_writes_its_rules(cluster: Cluster) -> None:
    log = cluster.kubectl("-n", "kube-system", "logs", "-l", "k8s-app=kube-proxy", "--tail=-1").stdout
    assert log
    assert "Sync failed" not in log
    assert "Failed to execute" not in log
