"""Names and paths of an engine: two caches never share one, and sockets fit whatever HOME is."""

from pathlib import Path

import pytest

from paceline_dev.kind.places import Places, places

SOCKET_PATH = 107


def test_two_caches_share_nothing_that_is_the_machines() -> None:
    one, other = Places(Path("/home/a/kind")), Places(Path("/home/b/kind"))
    for name in ("namespace", "namespace_file", "cgroup", "run", "docker_socket", "containerd_socket"):
        assert getattr(one, name) != getattr(other, name)


def test_sockets_fit_whatever_the_cache_is_called() -> None:
    here = Places(Path("/" + "a-long-folder-name/" * 30))
    assert len(str(here.run / "preload" / "s.ttrpc")) <= SOCKET_PATH
    assert len(f"{here.containerd_socket}.ttrpc") <= SOCKET_PATH


def test_the_same_cache_has_the_same_names_in_every_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PACELINE_CACHE", str(tmp_path))
    assert places() == Places(tmp_path / "kind")
    assert places().tag == Places(tmp_path / "kind").tag


def test_images_and_containers_are_apart_from_what_is_kept() -> None:
    here = Places(Path("/cache/kind"))
    assert here.data == Path("/cache/kind/engine")
    assert here.kubeconfig("paceline") == Path("/cache/kind/clusters/paceline/kubeconfig")
