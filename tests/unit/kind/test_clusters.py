"""Clusters that are made, reused, left behind and removed. `kind`, `docker` and `kubectl` are one shell script here."""

import json
import os
import re
from pathlib import Path

import pytest

from paceline_dev.errors import DevError
from paceline_dev.kind import create, delete, ensure
from paceline_dev.kind import record as records
from paceline_dev.kind.cluster import WRAPPER, Cluster
from paceline_dev.kind.config import kind_config
from paceline_dev.kind.create import explain_kind
from paceline_dev.kind.delete import delete_cluster
from paceline_dev.kind.engine import Engine
from paceline_dev.kind.ensure import ensure_cluster
from paceline_dev.kind.namespace import Namespace
from paceline_dev.kind.places import Places, places
from paceline_dev.kind.record import Record, check_name
from paceline_dev.progress import PlainReporter

TOOL = """#!/bin/sh
here=$(dirname "$0")
echo "$(basename "$0") $*" >> "$here/calls"
case "$1 $2" in
"get clusters") ls "$here/clusters" ;;
"get nodes") cat "$here/clusters/$4" ;;
"get --raw") cat "$here/readyz" ;;
"create cluster") cat > "$here/config"
  [ -f "$here/broken" ] && { cat "$here/broken"; exit 1; }
  grep -o '"role": "[a-z-]*"' "$here/config" | cut -d'"' -f4 > "$here/clusters/$4" ;;
"delete cluster") rm -f "$here/clusters/$4" ;;
esac
exit 0
"""


class Tools:
    """A user's Docker with kind, whose clusters are files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "clusters").mkdir(parents=True)
        (folder / "readyz").write_text("ok")
        for name in ("kind", "docker", "kubectl"):
            (folder / name).write_text(TOOL)
            (folder / name).chmod(0o755)

    @property
    def engine(self) -> Engine:
        return Engine(self.folder / "docker", self.folder / "kind", None, None)

    def calls(self) -> list[str]:
        calls = self.folder / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return [line for line in lines if line.startswith(("kind create", "kind delete"))]


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    made = Tools(tmp_path / "tools")
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"):
        (assets / name).symlink_to(made.folder / "kubectl")
    (assets / "readyz").symlink_to(made.folder / "readyz")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    monkeypatch.setenv("PACELINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(create, "require_memory", lambda: None)
    monkeypatch.setattr(delete, "find_kind", lambda _: made.folder / "kind")
    monkeypatch.setattr(delete, "users_engine", lambda _: made.engine)
    return made


def make(tools: Tools, workers: int = 0, name: str = "paceline") -> Cluster:
    return ensure_cluster(tools.engine, name, workers, PlainReporter())


def refusal(tools: Tools, workers: int = 0) -> str:
    with pytest.raises(DevError) as caught:
        make(tools, workers)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_a_cluster_is_made_and_then_reused(tools: Tools) -> None:
    cluster = make(tools, workers=2)
    assert [re.sub(" --kubeconfig .*", "", line) for line in tools.calls()] == [
        "kind create cluster --name paceline --config - --wait 300s"
    ]
    assert len(cluster.nodes) == 3
    assert records.read(places(), "paceline") == Record("paceline", local=False, workers=2, ready=True)
    assert make(tools, workers=2) == cluster
    assert tools.calls() == []


def test_a_cluster_left_by_a_killed_run_is_removed_and_made_anew(
    tools: Tools, capsys: pytest.CaptureFixture[str]
) -> None:
    (tools.folder / "clusters" / "paceline").write_text("paceline-control-plane\n")
    records.write(places(), Record("paceline", local=False, workers=0, ready=False))
    make(tools)
    assert [line.split(" --")[0] for line in tools.calls()] == ["kind delete cluster", "kind create cluster"]
    assert "left half-made by a run that was killed: removing what is left of it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("broken", "told"),
    [("readyz", "does not answer"), ("clusters/paceline", "is gone from its engine")],
)
def test_a_cluster_that_does_not_work_is_made_anew(
    tools: Tools, capsys: pytest.CaptureFixture[str], broken: str, told: str
) -> None:
    make(tools)
    (tools.folder / broken).unlink()
    make(tools)
    assert len([line for line in tools.calls() if line.startswith("kind create")]) == 2
    assert told in capsys.readouterr().err


def test_a_cluster_that_lost_a_node_is_made_anew(tools: Tools, capsys: pytest.CaptureFixture[str]) -> None:
    make(tools, workers=1)
    (tools.folder / "clusters/paceline").write_text("paceline-control-plane\n")
    make(tools, workers=1)
    assert "has lost a node" in capsys.readouterr().err


def test_somebody_elses_cluster_of_that_name_is_left_alone(tools: Tools) -> None:
    (tools.folder / "clusters" / "paceline").write_text("paceline-control-plane\n")
    assert refusal(tools) == (
        "there is a kind cluster paceline that Paceline did not make: choose another name with --name, or remove it "
        "with `kind delete cluster --name paceline`"
    )
    assert tools.calls() == []


def test_another_number_of_nodes_is_refused(tools: Tools) -> None:
    make(tools, workers=2)
    assert refusal(tools, workers=0).startswith("cluster paceline has 3 node(s), not 1: run `make cluster-delete`")


def test_a_cluster_of_docker_is_not_looked_for_on_another_engine(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    records.write(places(), Record("paceline", local=False, workers=0, ready=True))
    monkeypatch.setattr(Engine, "local", True)
    assert "was made on the machine's Docker, which is not the engine in use now: start Docker" in refusal(tools)


def test_a_creation_that_fails_leaves_nothing_and_says_why(tools: Tools) -> None:
    (tools.folder / "broken").write_text("Creating\nERROR: failed to create cluster: node is gone\nCommand Output: x\n")
    told = refusal(tools)
    assert told.startswith("kind could not create the cluster: failed to create cluster: node is gone (log: ")
    assert [line.split(" --")[0] for line in tools.calls()] == ["kind create cluster", "kind delete cluster"]
    assert records.read(places(), "paceline") is None


def test_without_a_registry_the_way_out_is_our_own_engine(tmp_path: Path) -> None:
    (tmp_path / "log").write_text('ERROR: failed to create cluster: failed to pull image "kindest/node"\n')
    assert "or set PACELINE_ENGINE=local to have the image built here" in str(explain_kind(tmp_path / "log", False))
    assert "PACELINE_ENGINE" not in str(explain_kind(tmp_path / "log", True))


def test_too_little_memory_stops_before_anything_is_made(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    def short() -> None:
        raise DevError("a cluster needs about 2 GiB of memory")

    monkeypatch.setattr(create, "require_memory", short)
    assert "needs about 2 GiB" in refusal(tools)
    assert tools.calls() == []


def test_a_local_cluster_is_handed_out_only_from_a_closed_network(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make(tools)
    records.write(places(), Record("paceline", local=True, workers=0, ready=True))
    ours = Engine(tools.folder / "docker", tools.folder / "kind", "unix:///s", Namespace("n", tmp_path / "n"))
    monkeypatch.setattr(Namespace, "inside", lambda _, command: [str(word) for word in command])

    def leaky(*_: object) -> None:
        raise DevError("the engine's network n is not closed")

    monkeypatch.setattr(ensure, "require_closed", leaky)
    with pytest.raises(DevError, match="is not closed"):
        ensure_cluster(ours, "paceline", 0, PlainReporter())


def test_a_cluster_is_deleted_and_then_there_is_none(tools: Tools, capsys: pytest.CaptureFixture[str]) -> None:
    make(tools)
    tools.calls()
    delete_cluster("paceline", PlainReporter())
    assert tools.calls() == ["kind delete cluster --name paceline"]
    assert not records.folder(places(), "paceline").exists()
    delete_cluster("paceline", PlainReporter())
    assert "there is no cluster paceline" in capsys.readouterr().err


def test_somebody_elses_cluster_is_not_deleted(tools: Tools) -> None:
    (tools.folder / "clusters" / "paceline").write_text("paceline-control-plane\n")
    delete_cluster("paceline", PlainReporter())
    assert tools.calls() == []


def test_a_cluster_of_docker_needs_docker_to_be_deleted(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tools)
    monkeypatch.setattr(delete, "users_engine", lambda _: "no Docker engine answers")
    with pytest.raises(DevError, match="is on the machine's Docker, and no Docker engine answers: start Docker"):
        delete_cluster("paceline", PlainReporter())


def test_what_is_left_of_a_local_engine_needs_root(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    places().data.mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(DevError, match="the local engine is root's: run this as root"):
        delete_cluster("paceline", PlainReporter())


@pytest.mark.parametrize("name", ["", "Upper", "-a", "a-", "a_b", "a" * 43, "a b", "a;b"])
def test_a_name_that_kind_cannot_take_is_refused(name: str) -> None:
    with pytest.raises(DevError, match="cannot be the name of a cluster: use up to 42 lower-case letters"):
        check_name(name)


def test_a_record_that_is_broken_is_none(tmp_path: Path) -> None:
    here = Places(tmp_path)
    records.write(here, Record("paceline", local=True, workers=0, ready=True))
    assert records.names(here) == ["paceline"]
    (records.folder(here, "paceline") / records.FILE).write_text('{"name": "paceline"')
    assert records.read(here, "paceline") is None


def test_every_cluster_may_live_on_cgroup_version_1_and_ours_has_ipv4_only() -> None:
    config = json.loads(kind_config(2, local=True))
    assert [node["role"] for node in config["nodes"]] == ["control-plane", "worker", "worker"]
    assert config["networking"] == {"ipFamily": "ipv4"}
    assert json.loads(config["kubeadmConfigPatches"][0])["failCgroupV1"] is False
    assert "networking" not in json.loads(kind_config(0, local=False))


def test_a_person_gets_kind_and_a_command_that_enters_the_network(tools: Tools, tmp_path: Path) -> None:
    ours = Engine(Path("/p/bin/docker"), Path("/k/kind"), "unix:///s", Namespace("n", Path("/run/netns/n")))
    cluster = Cluster("paceline", tmp_path / "kubeconfig", ours, Path("/b/kubectl"), tmp_path / "bin")

    cluster.write_bin()
    cluster.write_bin()  # of a cluster that is there already

    assert (tmp_path / "bin" / "kind").readlink() == Path("/k/kind")
    script = (tmp_path / "bin" / WRAPPER).read_text()
    assert f"export KUBECONFIG={tmp_path}/kubeconfig\n" in script
    assert "export DOCKER_HOST=unix:///s\n" in script
    assert f"export PATH={tmp_path}/bin:/b:/p/bin:$PATH\n" in script
    assert script.endswith('exec nsenter --net=/run/netns/n -- env "$@"\n')
    assert os.access(tmp_path / "bin" / WRAPPER, os.X_OK)
    assert make(tools).exports()[0].startswith("export KUBECONFIG=")
