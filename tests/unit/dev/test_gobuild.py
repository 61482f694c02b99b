"""What a failed `go` is turned into, and what the key of a build depends on."""

import platform
import shutil
from pathlib import Path

import pytest

from paceline_dev import gobuild
from paceline_dev.gobuild import build_key, explain_failure

# As go 1.26.8 wrote them, but for the address.
ZIP = "go.etcd.io/etcd/server/v3/@v/v3.6.8.zip"
REFUSED = f'go.etcd.io/etcd/server/v3@v3.6.8: Get "http://proxy/{ZIP}": dial tcp 127.0.0.1:9: connection refused'
NO_HOST = f'go.etcd.io/etcd/server/v3@v3.6.8: Get "http://proxy/{ZIP}": dial tcp: lookup proxy: no such host'
FORBIDDEN = f"go.etcd.io/etcd/server/v3@v3.6.8: reading http://proxy/{ZIP}: 403 Forbidden"
OFF = "go: downloading go.etcd.io/etcd/server/v3 v3.6.8\nmain.go:7:2: module lookup disabled by GOPROXY=off"


def explained(tmp_path: Path, output: str, status: int = 1) -> str:
    (tmp_path / "log").write_text(output)
    told = str(explain_failure("go build", status, tmp_path / "log"))
    assert len(told.splitlines()) == 1
    return told


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (f"main.go:7:2: {REFUSED}", "dial tcp 127.0.0.1:9: connection refused"),
        (
            f"go: downloading k8s.io/api v0.36.4\nmain.go:7:2: {NO_HOST}\nos",
            "dial tcp: lookup proxy: no such host",
        ),
        (f"go: {FORBIDDEN}\n\tserver response: no", "403 Forbidden"),
        (OFF, "module lookup disabled by GOPROXY=off"),
    ],
)
def test_without_the_module_proxy_the_module_is_named(tmp_path: Path, output: str, reason: str) -> None:
    assert explained(tmp_path, output) == (
        f"the Go module proxy could not be reached for go.etcd.io/etcd/server/v3@v3.6.8 ({reason}): check "
        "the network or GOPROXY, or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, "
        "kube-controller-manager, kube-scheduler, kubectl"
    )


@pytest.mark.parametrize("output", ["go: dial tcp: i/o timeout", "go: net/http: TLS handshake timeout"])
def test_a_proxy_that_times_out_for_no_named_module_is_still_the_proxy(tmp_path: Path, output: str) -> None:
    assert "the Go module proxy could not be reached for a module (" in explained(tmp_path, output)


@pytest.mark.parametrize(
    "output",
    [
        "open /go-build/b1/_pkg_.a: no space left on device",
        f"go: {REFUSED}\ngo: writing go.sum: disk quota exceeded",
    ],
)
def test_a_full_disk_is_said(tmp_path: Path, output: str) -> None:
    assert "no space left on the device: free some space, or point PACELINE_CACHE" in explained(tmp_path, output)


@pytest.mark.parametrize(
    ("output", "telling"),
    [
        (
            "a/package\n# a/thing\nthing.go:7:2: undefined: Other\nlater/package\n",
            "thing.go:7:2: undefined: Other",
        ),
        ("go: downloading k8s.io/api v0.36.4\n", "exit status 1"),
        (
            "k8s.io/api: /go/pkg/tool/compile: signal: killed\n",
            "k8s.io/api: /go/pkg/tool/compile: signal: killed",
        ),
    ],
)
def test_any_other_failure_is_its_last_telling_line_and_the_log(tmp_path: Path, output: str, telling: str) -> None:
    assert explained(tmp_path, output) == f"go build failed: {telling} (full log: {tmp_path / 'log'})"


def test_a_go_that_was_killed_is_said(tmp_path: Path) -> None:
    assert "go build was killed by signal 9, memory may be short" in explained(tmp_path, "a/package\n", status=-9)


def test_other_pins_have_another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = build_key()
    shutil.copytree(gobuild.PINS, tmp_path / "pins")
    monkeypatch.setattr(gobuild, "PINS", tmp_path / "pins")
    assert build_key() == before

    (tmp_path / "pins" / "etcd" / "go.sum").write_text("")

    assert build_key() != before


def test_another_platform_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = build_key()
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert build_key() != before
