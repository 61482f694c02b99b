"""Whether anything in the engine's network namespace could reach the world outside this machine.

A pod's packet to an address that nobody answers (a Service without endpoints, any DNS look-up) follows default routes
as far as they lead. On a network that is not ours it must not leave the machine, so the engine is started only in a
namespace that passes these checks, and a cluster is handed out only after it has passed them again.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface
from pathlib import Path
from typing import Any

from paceline_dev.errors import DevError
from paceline_dev.kind.namespace import Namespace, is_namespace, parsed, run_ip

Row = Mapping[str, Any]
"""One object of what `ip -json` prints."""

HOST = Path("/proc/self/ns/net")
"""The machine's own network: that of this process, which therefore must not be inside the engine's."""
TRIES = 5
PAUSE_SECONDS = 0.5

_DEAD_ENDS = {"unreachable", "blackhole", "prohibit", "throw"}
_STAY = {"local", "broadcast", "anycast", "multicast"}
# Modules for tunnels put one of these, down, into every new namespace.
_FALLBACKS = {"ipip", "sit", "gre", "gretap", "erspan", "ip6tnl", "ip6gre", "ip6gretap", "vti", "vti6"}


@dataclass(frozen=True, slots=True)
class Pair:
    """The two ends of a veth, by their index in the engine's namespace and in the one at the other end."""

    here: int
    there: int


def link_leaks(links: Iterable[Row], sandboxes: Collection[Pair]) -> list[str]:
    """Interfaces of the namespace that are neither its own nor lead into a container of the engine."""
    return [f"interface {link['ifname']} {reason}" for link in links if (reason := _link_leak(link, sandboxes))]


def _link_leak(link: Row, sandboxes: Collection[Pair]) -> str:
    kind = link.get("linkinfo", {}).get("info_kind")
    if link.get("link_type") == "loopback" or kind in ("bridge", "dummy"):
        return ""
    if kind in _FALLBACKS:
        return "is a tunnel that is up" if "UP" in link["flags"] else ""
    if kind != "veth":
        return f"is of kind {kind or 'physical'}"
    if "link_netnsid" not in link:  # both ends are here, as while a container starts
        return ""
    known = Pair(link["ifindex"], link["link_index"]) in sandboxes
    return "" if known else "leads into a namespace that is no container's"


def route_leaks(routes: Iterable[Row]) -> list[str]:
    """Routes by which a packet would be handed on; the namespace needs none, it is the last stop."""
    return [f"route {_told(route)}" for route in routes if _leads_on(route)]


def _leads_on(route: Row) -> bool:
    if route.get("type", "unicast") in _DEAD_ENDS | _STAY:
        return False
    return route["dst"] == "default" or any(key in route for key in ("gateway", "via", "nexthops", "encap"))


def _told(route: Row) -> str:
    gateway = f" via {route['gateway']}" if "gateway" in route else ""
    return f"to {route['dst']}{gateway} by {route.get('dev', 'several interfaces')}"


def gateway_leaks(routes: Iterable[Row], addresses: Collection[str]) -> list[str]:
    """Routes of a container whose next hop is not one of `addresses`: those where the way ends."""
    own = {ip_address(address) for address in addresses}
    found = []
    for route in routes:
        if not _leads_on(route):
            continue
        if "gateway" not in route or ip_address(route["gateway"]) not in own:
            found.append(f"route {_told(route)}")
    return found


def host_leaks(links: Iterable[Row], identities: Iterable[Row], namespace: str) -> list[str]:
    """Interfaces of the machine whose other end is in the namespace."""
    ours = {row["nsid"] for row in identities if row.get("name") == namespace}
    return [
        f"interface {link['ifname']} of this machine leads into {namespace}"
        for link in links
        if link.get("link_netnsid") in ours
    ]


def addresses_of(links: Iterable[Row]) -> set[str]:
    """The addresses in the output of `ip -json address`."""
    return {
        str(ip_interface(f"{entry['local']}/{entry['prefixlen']}").ip)
        for link in links
        for entry in link.get("addr_info", ())
        if "local" in entry
    }


def leaks(namespace: Namespace, sandboxes: Path) -> list[str]:
    """Every way out that there is at this moment; `sandboxes` is the folder of the containers' namespaces."""
    host = HOST.stat().st_ino
    if namespace.number() == host:
        return [f"{namespace.name} is the network that this process is in"]
    own_addresses = addresses_of(namespace.ip_json("address"))
    pairs: list[Pair] = []
    found: list[str] = []
    for sandbox in sorted(filter(is_namespace, sandboxes.glob("*"))):
        number = sandbox.stat().st_ino
        if number == host:
            found.append(f"container {sandbox.name} is in this machine's own network")
        elif number != namespace.number():  # a container with `--network host` shares the engine's
            pairs += veth_pairs(parsed(run_ip(sandbox, "-json", "-details", "link")))
            found += [f"container {sandbox.name}: {leak}" for leak in gateway_leaks(defaults(sandbox), own_addresses)]
    found += link_leaks(namespace.ip_json("-details", "link"), pairs)
    found += route_leaks(all_routes(namespace.file))
    host_links = parsed(run_ip(HOST, "-json", "-details", "link"))
    identities = parsed(run_ip(HOST, "-json", "netns", "list-id"))
    return found + host_leaks(host_links, identities, namespace.name)


def veth_pairs(links: Iterable[Row]) -> list[Pair]:
    """The ends that a container has, seen from the other side."""
    return [
        Pair(link["link_index"], link["ifindex"])
        for link in links
        if link.get("linkinfo", {}).get("info_kind") == "veth" and "link_index" in link
    ]


def all_routes(namespace: Path) -> list[Row]:
    """Routes of both families and all tables."""
    return [
        row
        for family in ("-4", "-6")
        for row in parsed(run_ip(namespace, family, "-json", "route", "show", "table", "all"))
    ]


def defaults(namespace: Path) -> list[Row]:
    """The default routes only: a node also routes to the pods of other nodes, which are inside too."""
    return [route for route in all_routes(namespace) if route["dst"] == "default"]


def require_contained(
    namespace: Namespace, sandboxes: Path, look: Callable[[Namespace, Path], Sequence[str]] = leaks
) -> None:
    """Refuse to go on if there is a way out.

    Containers come and go between two looks, so what is found must be there several times.
    """
    for attempt in range(TRIES):
        try:
            found = look(namespace, sandboxes)
        except (DevError, OSError) as error:  # a container that ended under the look
            found = [str(error)]
        if not found:
            return
        if attempt < TRIES - 1:
            time.sleep(PAUSE_SECONDS)
    raise DevError(
        f"the engine's network {namespace.name} is not closed ({'; '.join(found)}), so no engine runs in it: "
        "do not connect it to anything, and run this again"
    )
