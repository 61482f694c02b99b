"""The demo's stage on a kind cluster: how it is entered, what its operators do, and how it is cleared away."""

import sys
from pathlib import Path
from typing import Any, cast

import pytest

from paceline_dev.demo import kind
from paceline_dev.demo.kind import LEASE, NAMESPACE, KindStage
from paceline_dev.errors import DevError
from paceline_dev.kind.cluster import Cluster
from paceline_dev.kind.engine import Engine
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.wire import Json

KUBECTL = """#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/calls"
case "$1 $2" in
"get namespace") exit "$(cat "$here/gone")" ;;
"get rgrp") echo runnergroup.paceline.dev/shop ;;
esac
"""


@pytest.mark.parametrize(("asked", "name"), [("kind", "paceline"), ("paceline-ci", "paceline-ci")])
def test_kind_is_the_cluster_that_make_cluster_makes(asked: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def become(_: str, command: list[str], __: object) -> None:
        sys.exit(" ".join(command))

    engine = Engine(Path("docker"), Path("kind"), None, None)
    monkeypatch.setattr(Cluster, "machine", "10.0.0.1")
    monkeypatch.setattr(kind, "find_engine", lambda _: engine)
    monkeypatch.setattr(kind, "bring_up", lambda _, name, *__: Cluster(name, Path(), engine, Path(), Path()))
    monkeypatch.setattr("os.execvpe", become)
    with pytest.raises(SystemExit, match=f"paceline_dev demo-inside {name} --machine 10.0.0.1 --rate 12"):
        kind.enter(asked, 12)


def test_a_name_that_kind_cannot_take_is_refused_at_once() -> None:
    with pytest.raises(DevError, match='"My Cluster" cannot be the name'):
        kind.enter("My Cluster", 12)


class Pods:
    """An API server with three operators: one has the Lease, one is on its way up."""

    async def get(self, path: str, **_: str) -> Json:
        if path == LEASE:
            return {"spec": {"holderIdentity": "paceline-operator-abc-b-0a1b2c3d"}}
        return {"items": [operator("a", "True"), operator("b", "True"), operator("c", "False")]}


def operator(name: str, ready: str) -> Json:
    conditions = [{"type": "Ready", "status": ready}]
    return {"metadata": {"name": f"paceline-operator-abc-{name}"}, "status": {"conditions": conditions}}


async def test_the_lease_tells_which_operator_acts() -> None:
    nothing = cast("Any", None)
    stage = KindStage(nothing, cast("Any", Pods()), nothing, "", nothing, Path())
    assert list((await stage.operators()).values()) == ["stands by", "acts", "starts"]
    assert await stage.acting() == "paceline-operator-abc-b"


@pytest.fixture
def kubectl(tmp_path: Path) -> Kubectl:
    program = tmp_path / "kubectl"
    program.write_text(KUBECTL)
    program.chmod(0o755)
    return Kubectl(program, tmp_path / "kubeconfig")


def test_groups_that_were_left_are_deleted_before_their_finalizer_is_taken_away(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    (tmp_path / "gone").write_text("0")
    kind.remove(kubectl)
    calls = [line.split()[:2] for line in (tmp_path / "calls").read_text().splitlines()]
    order = [calls.index(each) for each in (["delete", "rgrp"], ["patch", "runnergroup.paceline.dev/shop"])]
    assert order == sorted(order)
    assert calls[-1] == ["wait", f"namespace/{NAMESPACE}"]


def test_where_nothing_was_left_there_is_nothing_to_remove(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "gone").write_text("1")
    kind.remove(kubectl)
    assert (tmp_path / "calls").read_text().splitlines() == [f"get namespace {NAMESPACE}"]
