"""An image is copied to the nodes that lack its build. `docker` and `kind` are one shell script here."""

from pathlib import Path

import pytest

from paceline_dev.kind.cluster import Cluster
from paceline_dev.kind.engine import Engine
from paceline_dev.kind.loaded import full_name

TOOL = """#!/bin/sh
here=$(dirname "$0")
for last; do :; done
case "$*" in
"get nodes"*) echo node-b node-a ;;
"image inspect"*) cat "$here/build" ;;
"exec "*" label "*) touch "$here/$2-${last##*=}" ;;
"exec "*) [ ! -f "$here/$2-${last##*=}" ] || echo it ;;
"load "*) echo "$last" >> "$here/loads"; [ ! -f "$here/next" ] || mv "$here/next" "$here/build" ;;
esac
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """Two nodes, and an engine with the build `one` of every image."""
    for name in ("docker", "kind"):
        (tmp_path / name).write_text(TOOL)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "build").write_text("one")
    engine = Engine(tmp_path / "docker", tmp_path / "kind", None, None)
    return Cluster("c", tmp_path / "kubeconfig", engine, tmp_path / "kubectl", tmp_path)


def loads(folder: Path) -> list[str]:
    return (folder / "loads").read_text().splitlines()


def test_a_build_is_copied_once(cluster: Cluster, tmp_path: Path) -> None:
    cluster.load("image:1")
    cluster.load("image:1")
    assert loads(tmp_path) == ["node-a,node-b"]


def test_another_build_of_the_same_name_is_copied_too(cluster: Cluster, tmp_path: Path) -> None:
    cluster.load("image:1")
    (tmp_path / "build").write_text("two")
    cluster.load("image:1")
    assert loads(tmp_path) == ["node-a,node-b"] * 2


def test_only_nodes_that_lack_it_get_it(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "node-a-one").touch()
    cluster.load("image:1")
    assert loads(tmp_path) == ["node-b"]


def test_a_build_that_changed_on_the_way_is_not_taken_for_the_one_that_was_asked_for(
    cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "next").write_text("two")
    cluster.load("image:1")
    (tmp_path / "build").write_text("one")
    cluster.load("image:1")
    assert loads(tmp_path) == ["node-a,node-b"] * 2


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("paceline-operator:0.1.0", "docker.io/library/paceline-operator:0.1.0"),
        ("team/runner:1", "docker.io/team/runner:1"),
        ("localhost/paceline-base:trixie", "localhost/paceline-base:trixie"),
        ("registry.example.com/runner:1", "registry.example.com/runner:1"),
        ("registry:5000/runner:1", "registry:5000/runner:1"),
    ],
)
def test_a_node_knows_images_by_their_full_names(image: str, full: str) -> None:
    assert full_name(image) == full
