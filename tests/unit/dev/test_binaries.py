"""The control plane's programs: given, cached or built. `go` is a shell script here: that is the port."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from paceline_dev.__main__ import app
from paceline_dev.binaries import Binaries, find_binaries, find_kubectl
from paceline_dev.errors import DevError
from paceline_dev.gobuild import build_key
from paceline_dev.helm.program import HELM_VERSION, PINS, find_helm

NAMES = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"]

# A file `list` or `build-<program>` beside the script is run in the middle of that step.
FAKE_GO = """#!/bin/sh
here=$(dirname "$0")
for argument; do [ "$previous" = -o ] && out=$argument; previous=$argument; done
name=${previous##*/}
echo "$1 $name" >> "$here/calls"
case $1 in
version) echo "go version go1.26.8 linux/amd64" ;;
env) echo "$here/gocache"; echo "$here/gomodcache" ;;
list) [ -f "$here/list" ] && . "$here/list"; echo some/package; echo other/package ;;
build) env > "$here/environment"; echo some/package
  [ -f "$here/build-$name" ] && . "$here/build-$name"
  echo "program $name" > "$out" ;;
esac
"""


class Recorder:
    """A reporter that keeps what it is told."""

    def __init__(self, seen: Callable[[str], None] = lambda _: None) -> None:
        self.lines: list[str] = []
        self._seen = seen

    def line(self, text: str) -> None:
        self.lines.append(text)
        self._seen(text)

    @contextmanager
    def task(self, title: str, total: int | None = None) -> Iterator["Recorder"]:
        self.line(f"{title} of {total}")
        yield self

    def advance(self, description: str) -> None:
        self.line(description)


class FakeGo:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "go").write_text(FAKE_GO)
        (folder / "go").chmod(0o755)

    def during(self, step: str, script: str) -> None:
        (self.folder / step).write_text(script)

    def built(self) -> list[str]:
        """Names of the programs that were built since the last call."""
        calls = self.folder / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return [line.removeprefix("build ") for line in lines if line.startswith("build ")]


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    folder = tmp_path / "go-on-path"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PACELINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return FakeGo(folder)


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's with all five programs."""
    folder = tmp_path / "assets"
    folder.mkdir()
    for name in NAMES:
        (folder / name).touch(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))
    return folder


def refusal() -> str:
    with pytest.raises(DevError) as caught:
        find_binaries(Recorder())
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def programs(found: Binaries) -> list[Path]:
    return [
        found.etcd,
        found.kube_apiserver,
        found.kube_controller_manager,
        found.kube_scheduler,
        found.kubectl,
    ]


def test_the_users_own_programs_are_taken_as_they_are(go: FakeGo, assets: Path) -> None:
    found = find_binaries(Recorder())

    assert programs(found) == [assets / name for name in NAMES]
    assert go.built() == []


def test_a_folder_of_the_user_that_does_not_exist_lacks_all_five(assets: Path) -> None:
    shutil.rmtree(assets)
    assert f"{assets}, which has no executable {', '.join(NAMES)}: put them there, or unset" in refusal()


def test_a_program_that_the_users_folder_lacks_is_named(assets: Path) -> None:
    (assets / "kube-scheduler").unlink()
    assert "has no executable kube-scheduler: put it there, or unset KUBEBUILDER_ASSETS" in refusal()


def test_a_file_that_cannot_be_executed_is_named(assets: Path) -> None:
    (assets / "etcd").chmod(0o644)
    assert "has no executable etcd: put it there" in refusal()


def test_all_five_are_built_and_recorded(go: FakeGo, tmp_path: Path) -> None:
    report = Recorder()

    found = find_binaries(report)

    assert go.built() == NAMES
    assert found.folder == tmp_path / "cache" / "kubernetes" / f"v1.36.4-{build_key()}"
    assert [path.read_text() for path in programs(found)] == [f"program {name}\n" for name in NAMES]
    assert all(os.access(path, os.X_OK) for path in programs(found))
    assert json.loads((found.folder / "manifest.json").read_text()) == {
        path.name: {"size": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        for path in programs(found)
    }
    assert "building kubectl of 2" in report.lines
    assert "some/package" in report.lines


def test_what_is_in_the_cache_is_found_without_go(go: FakeGo) -> None:
    first = find_binaries(Recorder())
    (go.folder / "calls").unlink()

    assert find_binaries(Recorder()) == first
    assert not (go.folder / "calls").exists()


@pytest.mark.parametrize("damage", [lambda file: os.truncate(file, 3), lambda file: file.chmod(0o644), Path.unlink])
def test_a_truncated_or_unusable_binary_is_not_a_cache_hit(go: FakeGo, damage: Callable[[Path], None]) -> None:
    found = find_binaries(Recorder())
    go.built()
    damage(found.kubectl)

    find_binaries(Recorder())

    assert go.built() == ["kubectl"]
    assert found.kubectl.read_text() == "program kubectl\n"
    assert os.access(found.kubectl, os.X_OK)


@pytest.mark.parametrize("manifest", ["", "not json", "[]", '{"etcd": 3}', '{"etcd": {}}'])
def test_binaries_without_a_readable_record_are_not_a_hit(go: FakeGo, manifest: str) -> None:
    found = find_binaries(Recorder())
    go.built()
    (found.folder / "manifest.json").write_text(manifest)

    find_binaries(Recorder())

    assert go.built() == NAMES


def test_a_killed_build_is_no_hit_and_is_resumed(go: FakeGo, tmp_path: Path) -> None:
    os.mkfifo(started := tmp_path / "started")
    partial = 'printf half > "$out"; touch "$GOTMPDIR/go-build1"'
    go.during("build-kube-scheduler", f"{partial}; echo $$ > {started}; exec sleep 60")
    build = "from paceline_dev.binaries import *; from paceline_dev.progress import *"
    builder = subprocess.Popen([sys.executable, "-c", f"{build}; find_binaries(PlainReporter())"])
    orphan = int(started.read_text())  # opens when the fourth program is half built
    try:
        builder.kill()
        assert builder.wait() == -signal.SIGKILL
        folder = next((tmp_path / "cache" / "kubernetes").iterdir())
        assert [path.read_text() for path in folder.glob(".kube-scheduler.*.tmp")] == ["half"]
        assert sorted(json.loads((folder / "manifest.json").read_text())) == NAMES[:3]
        assert go.built() == NAMES[:4]
        go.during("build-kube-scheduler", 'ls "$GOTMPDIR" > "$here/left"')

        found = find_binaries(Recorder())
    finally:
        os.kill(orphan, signal.SIGKILL)

    assert go.built() == ["kube-scheduler", "kubectl"]
    assert found.kube_scheduler.read_text() == "program kube-scheduler\n"
    assert (go.folder / "left").read_text() == ""
    assert {path.name for path in folder.iterdir()} == {*NAMES, "manifest.json", "build.lock", "logs"}


def test_of_two_builders_one_waits_and_finds_the_result(go: FakeGo, tmp_path: Path) -> None:
    os.mkfifo(started := tmp_path / "started")
    os.mkfifo(proceed := tmp_path / "proceed")
    go.during("build-etcd", f'rm "$here/build-etcd"; echo now > {started}; read _ < {proceed}')  # once only
    waiting = threading.Event()
    second = Recorder(lambda text: waiting.set() if text.startswith("waiting for pid") else None)
    found: list[Binaries] = []
    threads = [
        threading.Thread(target=lambda report=report: found.append(find_binaries(report)))
        for report in (Recorder(), second)
    ]

    threads[0].start()
    started.read_text()
    threads[1].start()
    assert waiting.wait(10)
    proceed.write_text("go on\n")
    for thread in threads:
        thread.join(10)

    assert len(found) == 2
    assert found[0] == found[1]
    assert go.built() == NAMES
    assert f"waiting for pid {os.getpid()} since" in second.lines[0]
    assert len(second.lines) == 1


def test_a_disk_that_fills_up_is_said(go: FakeGo) -> None:
    go.during("build-kubectl", "echo 'open /go-build/b1/_pkg_.a: no space left on device'; exit 1")
    assert "go build failed, no space left on the device: free some space, or point" in refusal()


@pytest.mark.parametrize(
    ("free", "refused"),
    [
        (2**29, "downloading the Go modules needs about 0.8 GiB in "),
        (2**32, f"building {', '.join(NAMES)} needs about 7.2 GiB in "),
    ],
)
def test_a_build_that_would_fill_the_disk_is_not_begun(
    go: FakeGo, monkeypatch: pytest.MonkeyPatch, free: int, refused: str
) -> None:
    go.during("list", "seq 2000")  # packages that are not in Go's cache, of each module
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))

    assert refusal().startswith(refused)
    assert go.built() == []


def test_space_is_asked_only_for_what_is_missing(go: FakeGo, monkeypatch: pytest.MonkeyPatch) -> None:
    find_binaries(Recorder()).kubectl.unlink()
    go.built()
    (go.folder / "gomodcache" / "k8s.io" / "kubernetes@v1.36.4").mkdir(parents=True)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**29))

    find_binaries(Recorder())

    assert go.built() == ["kubectl"]


def test_any_other_failure_is_its_last_telling_line_and_the_log(go: FakeGo) -> None:
    said = "# k8s.io/thing\nthing.go:7:2: undefined: Other\nk8s.io/later/package"
    go.during("build-kube-apiserver", f"cat <<'END'\n{said}\nEND\nexit 1")

    told = refusal()

    assert told.startswith("go build failed: thing.go:7:2: undefined: Other (full log: ")
    log = Path(told.rpartition("(full log: ")[2].rstrip(")"))
    assert log.read_text() == f"some/package\n{said}\n"


def test_the_users_go_settings_do_not_leak_into_the_build(go: FakeGo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=vendor -tags=mine -p=2 -buildvcs=true")
    monkeypatch.setenv("GOROOT", "/nowhere")
    monkeypatch.setenv("GOOS", "plan9")
    monkeypatch.setenv("GOPROXY", "off")

    find_binaries(Recorder())

    seen = dict(line.split("=", 1) for line in (go.folder / "environment").read_text().splitlines() if "=" in line)
    assert seen["GOFLAGS"] == "-buildvcs=false -p=2"
    assert (seen["CGO_ENABLED"], seen["GOTOOLCHAIN"], seen["GOWORK"]) == ("0", "local", "off")
    assert seen["GOOS"] == sys.platform
    assert seen["GOPROXY"] == "off"
    assert "GOROOT" not in seen


def test_a_cache_that_cannot_be_written_is_said(go: FakeGo, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    told = refusal()
    assert told.startswith(f"cannot use {tmp_path / 'cache'}")
    assert told.endswith("or point PACELINE_CACHE elsewhere")


def test_the_command_prints_the_folder(assets: Path) -> None:
    result = CliRunner().invoke(app, ["binaries"])
    assert (result.stdout, result.exit_code) == (f"{assets}\n", 0)


def test_kubectl_is_built_alone_and_the_others_when_they_are_wanted(go: FakeGo) -> None:
    alone = find_kubectl(Recorder())
    assert go.built() == ["kubectl"]
    assert find_binaries(Recorder()).kubectl == alone
    assert go.built() == NAMES[:-1]


def test_the_users_own_kubectl_is_taken_with_the_rest_of_his_programs(go: FakeGo, assets: Path) -> None:
    assert find_kubectl(Recorder()) == assets / "kubectl"
    assert go.built() == []


def test_helm_is_built_from_pins_of_its_own(go: FakeGo, assets: Path, tmp_path: Path) -> None:
    found = find_helm(Recorder())
    assert go.built() == ["helm"]
    assert found == tmp_path / "cache" / "helm" / f"{HELM_VERSION}-{build_key(PINS)}" / "helm"
    assert f"helm.sh/helm/v4 {HELM_VERSION}\n" in (PINS / "helm" / "go.mod").read_text()
