"""Nothing that a pod sends can leave the machine: seen in routes, and in what the machine's interfaces carry."""

import json
import secrets
import socket
from collections.abc import Mapping
from typing import Any

import pytest

from paceline_dev.kind.cluster import Cluster
from paceline_dev.kind.containment import addresses_of, all_routes, gateway_leaks, leaks
from paceline_dev.kind.local_engine import sandboxes
from paceline_dev.kind.namespace import Namespace
from paceline_dev.kind.places import places
from paceline_dev.kind.watch import Watch

pytestmark = pytest.mark.timeout(900)

# Of the ranges for documentation (RFC 5737, 3849); the first of them, 192.0.2.0/24, is a real network in some clouds.
OUTSIDE = ("198.51.100.7", "203.0.113.7", "2001:db8::7")


@pytest.fixture(scope="module")
def namespace(cluster: Cluster) -> Namespace:
    """The engine's network; on the user's own Docker there is nothing to be said about it."""
    if cluster.engine.namespace is None:
        pytest.skip("the cluster runs on the machine's own Docker")
    return cluster.engine.namespace


@pytest.fixture
def pod(cluster: Cluster, web: str) -> str:
    return cluster.kubectl("-n", web, "get", "pods", "-o", "jsonpath={.items[0].metadata.name}").stdout


def in_node(cluster: Cluster, node: str, *command: str) -> list[Mapping[str, Any]]:
    """What `ip` says there; of a node without any pod it says nothing at all."""
    said = cluster.engine.docker("exec", node, "ip", "-json", *command).stdout
    rows: list[Mapping[str, Any]] = json.loads(said or "[]")
    return [row for row in rows if row]


def test_the_engines_network_has_no_way_out(namespace: Namespace) -> None:
    assert leaks(namespace, sandboxes(places())) == []
    assert not [route for route in all_routes(namespace.file) if route["dst"] == "default"]


def test_the_routes_of_every_node_end_in_the_engines_network(cluster: Cluster, namespace: Namespace) -> None:
    inside = addresses_of(namespace.ip_json("address"))
    for node in cluster.nodes:
        inside |= addresses_of(in_node(cluster, node, "address"))
    for node in cluster.nodes:
        routes = in_node(cluster, node, "route", "show", "table", "all")
        assert gateway_leaks(routes, inside) == []
        assert {route["dev"] for route in routes if route["dst"] == "default"} == {"eth0"}


def test_the_routes_of_every_pod_end_in_its_node(cluster: Cluster, namespace: Namespace, web: str) -> None:
    pods = 0
    for node in cluster.nodes:
        inside = addresses_of(in_node(cluster, node, "address"))
        for sandbox in in_node(cluster, node, "netns", "list"):
            routes = in_node(cluster, node, "-n", sandbox["name"], "route", "show", "table", "all")
            assert gateway_leaks(routes, inside) == []
            pods += any(route["dst"] == "default" for route in routes)
    assert pods >= 5  # three of web, two of CoreDNS


@pytest.fixture
def mark() -> bytes:
    """Something that no other frame carries."""
    return f"paceline{secrets.token_hex(8)}".encode()


def test_the_watch_would_see_it(mark: bytes) -> None:
    """By the loopback: a frame that left the machine is what must not be."""
    with Watch(mark) as watch, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(mark, ("127.0.0.1", 9))
    assert watch.seen > 0


@pytest.mark.parametrize("address", OUTSIDE)
def test_a_packet_to_an_address_outside_ends_in_the_engines_network(
    cluster: Cluster, namespace: Namespace, web: str, pod: str, mark: bytes, address: str
) -> None:
    with Watch(mark) as outside, Watch(mark, namespace.file) as inside:
        said = cluster.kubectl("-n", web, "exec", pod, "--", "/probe", "knock", mark.decode(), address).stdout
    assert outside.seen == 0
    assert f"{address} tcp: dial tcp" in said
    # pods have no IPv6; what they send by IPv4 is seen to come out of the node and to go no further
    assert inside.seen > 0 or ":" in address


def test_a_look_up_of_a_name_outside_ends_in_the_engines_network(
    cluster: Cluster, namespace: Namespace, web: str, pod: str, mark: bytes
) -> None:
    with Watch(mark) as outside:
        name = f"{mark.decode()}.example.com."
        answer = cluster.kubectl("-n", web, "exec", pod, "--", "/probe", "lookup", name, check=False)
    assert outside.seen == 0
    assert answer.returncode != 0
