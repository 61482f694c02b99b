"""Whether a packet could leave: decided from what `ip -json` prints, as iproute2 6.1 wrote it on a real engine."""

from pathlib import Path
from typing import Any

import pytest

from paceline_dev.errors import DevError
from paceline_dev.kind import containment
from paceline_dev.kind.containment import (
    Pair,
    addresses_of,
    gateway_leaks,
    host_leaks,
    link_leaks,
    require_contained,
    route_leaks,
    veth_pairs,
)
from paceline_dev.kind.namespace import Namespace, parsed

LOOPBACK = {"ifindex": 1, "ifname": "lo", "flags": ["LOOPBACK", "UP"], "link_type": "loopback"}
BRIDGE = {"ifindex": 2, "ifname": "br-36fa", "flags": ["UP"], "link_type": "ether", "linkinfo": {"info_kind": "bridge"}}
NAMESPACE = Namespace("paceline-0", Path("/run/netns/paceline-0"))


def veth(name: str, index: int, peer: int, namespace: int | None = 0) -> dict[str, Any]:
    link = {"ifindex": index, "link_index": peer, "ifname": name, "flags": ["UP"], "link_type": "ether"}
    elsewhere = {} if namespace is None else {"link_netnsid": namespace}
    return link | elsewhere | {"linkinfo": {"info_kind": "veth"}}


def other(kind: str | None, *flags: str) -> dict[str, Any]:
    link: dict[str, Any] = {"ifindex": 9, "ifname": "other0", "flags": list(flags), "link_type": "ether"}
    return link | ({"linkinfo": {"info_kind": kind}} if kind else {})


def test_a_loopback_bridges_and_the_ends_of_containers_are_closed() -> None:
    container = [LOOPBACK, veth("eth0", 10, 11)]
    assert link_leaks([LOOPBACK, BRIDGE, veth("vetha", 11, 10)], veth_pairs(container)) == []


def test_a_veth_that_no_container_has_the_other_end_of_is_a_leak() -> None:
    found = link_leaks([veth("vetha", 11, 10), veth("vethb", 13, 2)], [Pair(11, 10)])
    assert found == ["interface vethb leads into a namespace that is no container's"]


def test_a_veth_with_both_ends_inside_is_closed() -> None:
    assert link_leaks([veth("vetha", 11, 10, namespace=None)], []) == []


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        (other(None, "UP"), "is of kind physical"),
        (other("macvlan"), "is of kind macvlan"),
        (other("ipvlan"), "is of kind ipvlan"),
        (other("wireguard"), "is of kind wireguard"),
        (other("vlan"), "is of kind vlan"),
        (other("sit", "UP"), "is a tunnel that is up"),
    ],
)
def test_any_other_interface_is_a_leak(link: dict[str, Any], reason: str) -> None:
    assert link_leaks([link], []) == [f"interface other0 {reason}"]


def test_a_tunnel_that_the_kernel_left_down_is_none() -> None:
    assert link_leaks([other("sit")], []) == []


@pytest.mark.parametrize(
    "route",
    [
        {"dst": "172.17.0.0/16", "dev": "br-36fa", "protocol": "kernel", "scope": "link", "flags": []},
        {"type": "local", "dst": "127.0.0.0/8", "dev": "lo", "table": "local", "flags": []},
        {"type": "broadcast", "dst": "172.17.255.255", "dev": "br-36fa", "table": "local", "flags": []},
        {"type": "unreachable", "dst": "default", "dev": "lo", "metric": 4294967295, "flags": []},
        {"type": "multicast", "dst": "ff00::/8", "dev": "br-36fa", "table": "local", "flags": []},
    ],
)
def test_routes_to_the_networks_own_bridges_are_closed(route: dict[str, Any]) -> None:
    assert route_leaks([route]) == []


@pytest.mark.parametrize(
    ("route", "told"),
    [
        ({"dst": "default", "gateway": "172.17.0.9", "dev": "br-36fa"}, "to default via 172.17.0.9 by br-36fa"),
        ({"dst": "default", "dev": "br-36fa", "scope": "link"}, "to default by br-36fa"),
        ({"dst": "0.0.0.0/1", "gateway": "172.17.0.9", "dev": "br-36fa"}, "to 0.0.0.0/1 via 172.17.0.9 by br-36fa"),
        (
            {"dst": "10.0.0.0/8", "via": {"family": "inet6", "host": "fe80::1"}, "dev": "br-36fa"},
            "to 10.0.0.0/8 by br-36fa",
        ),
        ({"dst": "10.0.0.0/8", "nexthops": [{"gateway": "172.17.0.9"}]}, "to 10.0.0.0/8 by several interfaces"),
    ],
)
def test_a_route_that_hands_packets_on_is_a_leak(route: dict[str, Any], told: str) -> None:
    assert route_leaks([route]) == [f"route {told}"]


def test_the_default_route_of_a_container_must_end_at_a_bridge_of_the_engine() -> None:
    inside = {"dst": "default", "gateway": "172.17.0.1", "dev": "eth0"}
    outside = {"dst": "default", "gateway": "192.0.2.1", "dev": "eth1"}
    unclear = {"dst": "default", "dev": "tun0", "scope": "link"}
    six = {"dst": "default", "gateway": "fc00:f853:ccd:e793::1", "dev": "eth0"}
    bridges = {"172.17.0.1", "fc00:f853:0ccd:e793::1"}

    assert gateway_leaks([inside, six], bridges) == []
    assert gateway_leaks([inside, outside, unclear], bridges) == [
        "route to default via 192.0.2.1 by eth1",
        "route to default by tun0",
    ]


def test_an_interface_of_the_machine_that_leads_inside_is_a_leak() -> None:
    links = [LOOPBACK, veth("veth-users", 5, 2, namespace=3), veth("veth-bad", 7, 2, namespace=4)]
    identities: list[dict[str, Any]] = [{"nsid": 3, "name": "another"}, {"nsid": 4, "name": "paceline-0"}, {"nsid": 5}]

    assert host_leaks(links, identities, "paceline-0") == ["interface veth-bad of this machine leads into paceline-0"]
    assert host_leaks([LOOPBACK], [], "paceline-0") == []


def test_addresses_are_read_from_every_interface() -> None:
    links: list[dict[str, Any]] = [
        {
            "ifname": "br-36fa",
            "addr_info": [{"local": "172.17.0.1", "prefixlen": 16}, {"local": "fe80::1", "prefixlen": 64}],
        },
        {"ifname": "vetha", "addr_info": [{}]},
        {"ifname": "docker0"},
    ]
    assert addresses_of(links) == {"172.17.0.1", "fe80::1"}


@pytest.mark.parametrize(
    ("text", "rows"), [("", []), ("[{},{}]", []), ('[{"dst":"default"},{}]', [{"dst": "default"}])]
)
def test_what_ip_leaves_out_is_no_row(text: str, rows: list[dict[str, Any]]) -> None:
    assert parsed(text) == rows


def test_a_network_with_a_way_out_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containment, "PAUSE_SECONDS", 0)
    with pytest.raises(DevError) as caught:
        require_contained(
            NAMESPACE, Path("/none"), lambda *_: ["interface eth0 is of kind physical", "route to default"]
        )
    assert str(caught.value) == (
        "the engine's network paceline-0 is not closed (interface eth0 is of kind physical; route to default), "
        "so no engine runs in it: do not connect it to anything, and run this again"
    )


def test_a_container_that_ends_under_the_look_is_no_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containment, "PAUSE_SECONDS", 0)
    looks = iter([["interface vetha leads into a namespace that is no container's"], []])
    require_contained(NAMESPACE, Path("/none"), lambda *_: next(looks))


def test_a_network_that_cannot_be_looked_at_is_not_called_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containment, "PAUSE_SECONDS", 0)

    def look(*_: object) -> list[str]:
        raise DevError("nsenter failed")

    with pytest.raises(DevError, match=r"is not closed \(nsenter failed\)"):
        require_contained(NAMESPACE, Path("/none"), look)


def test_the_network_of_this_process_is_never_taken_for_the_engines() -> None:
    own = Namespace("own", Path("/proc/self/ns/net"))
    assert containment.leaks(own, Path("/none")) == ["own is the network that this process is in"]
