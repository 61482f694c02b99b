"""The look at a network finds real leaks. One scratch namespace plays the machine, another the engine's network."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from paceline_dev.kind.namespace import Namespace
from paceline_dev.kind.places import NETNS

LOOK = """
import json, sys
from pathlib import Path
from paceline_dev.kind.containment import leaks
from paceline_dev.kind.namespace import Namespace
print(json.dumps(leaks(Namespace(sys.argv[1], Path(sys.argv[2])), Path("/none"))))
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")


@pytest.fixture
def scratch() -> Iterator[tuple[Namespace, Namespace]]:
    made = []
    for role in ("machine", "engine"):
        name = f"pl-{role}-{os.getpid()}"
        made.append(Namespace(name, NETNS / name))
        made[-1].create()
    yield made[0], made[1]
    for namespace in made:
        namespace.delete()


def look(machine: Namespace, engine: Namespace) -> list[str]:
    command = machine.inside([sys.executable, "-c", LOOK, engine.name, str(engine.file)])
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout)
    return found


def test_an_empty_namespace_is_closed(scratch: tuple[Namespace, Namespace]) -> None:
    assert look(*scratch) == []


def test_a_veth_into_the_machine_is_found_from_both_sides(scratch: tuple[Namespace, Namespace]) -> None:
    machine, engine = scratch
    machine.ip("link", "add", "out", "type", "veth", "peer", "name", "in", "netns", engine.name)
    assert look(machine, engine) == [
        "interface in leads into a namespace that is no container's",
        f"interface out of this machine leads into {engine.name}",
    ]


@pytest.mark.parametrize("route", ["default", "198.51.100.0/24"])
def test_a_route_that_hands_packets_on_is_found(scratch: tuple[Namespace, Namespace], route: str) -> None:
    machine, engine = scratch
    engine.ip("link", "add", "bridge", "type", "bridge")
    engine.ip("address", "add", "172.31.0.1/24", "dev", "bridge")
    engine.ip("link", "set", "bridge", "up")
    assert look(machine, engine) == []
    engine.ip("route", "add", route, "via", "172.31.0.9")
    assert look(machine, engine) == [f"route to {route} via 172.31.0.9 by bridge"]
