"""What a node is made of: kind's own files with a few changes, each of which must find its place."""

import json
import os
from pathlib import Path

import pytest

from paceline_dev.errors import DevError
from paceline_dev.gobuild import KUBERNETES_VERSION
from paceline_dev.kind import node_files, node_image, programs
from paceline_dev.kind.archive import Tree
from paceline_dev.kind.images import CNI_IMAGE, node_images
from paceline_dev.kind.network_tools import parse_ldd
from paceline_dev.kind.node_files import FILES, base_spec, containerd_config
from paceline_dev.kind.node_image import image_key, prune
from paceline_dev.kind.rootfs import NODE_PACKAGES, rootfs_key

# As in kind 0.33.0, shortened.
CONTAINERD = """version = 2

[proxy_plugins]
# fuse-overlayfs is used for rootless
[proxy_plugins."fuse-overlayfs"]
  type = "snapshot"
  address = "/run/containerd-fuse-overlayfs.sock"

[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.10"
  restrict_oom_score_adj = false
"""


def test_containerd_of_a_node_is_set_up_for_a_closed_machine() -> None:
    text = containerd_config(CONTAINERD)
    assert "restrict_oom_score_adj = true" in text
    assert 'sandbox_image = "registry.k8s.io/pause:3.10.2"' in text
    assert "fuse-overlayfs" not in text
    assert 'snapshotter = "overlayfs"' in text


@pytest.mark.parametrize("gone", ["restrict_oom_score_adj = false", "[proxy_plugins]\n", "registry.k8s.io/pause:"])
def test_a_kind_with_another_configuration_does_not_go_through_silently(gone: str) -> None:
    with pytest.raises(DevError, match="has 0 places for"):
        containerd_config(CONTAINERD.replace(gone, ""))


def test_containers_start_from_a_spec_with_kinds_hook_and_without_limits() -> None:
    spec = json.loads(base_spec('{"process": {"rlimits": [{"type": "RLIMIT_NOFILE"}], "cwd": "/"}}'))
    assert spec["hooks"]["createContainer"] == [{"path": "/kind/bin/mount-product-files.sh"}]
    assert spec["process"] == {"cwd": "/"}


def test_the_settings_of_the_whole_machine_are_kept_from_the_nodes() -> None:
    script = (FILES / "closed-entrypoint").read_text()
    for setting in ("vm/overcommit_memory 1", "kernel/panic 10", "kernel/panic_on_oops 1", "fs/file-max"):
        assert f"show {setting}" in script
    assert script.rstrip().endswith('exec /usr/local/bin/entrypoint "$@"')
    assert any("closed-entrypoint" in change for change in node_image.CHANGES)


def test_kubeadm_finds_every_image_under_the_name_that_it_asks_for() -> None:
    names = [*programs.OTHERS, *programs.CONTAINERD_PROGRAMS]
    found = {program.name: Path(program.name) for program in names}
    found |= {name: Path(name) for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")}
    found |= {"kube-proxy": Path("kube-proxy")}

    images = {image.name: image for image in node_images(found, Path("tools"))}

    assert {name.rpartition("/")[2] for name in images} == {
        f"kube-apiserver:{KUBERNETES_VERSION}",
        f"kube-controller-manager:{KUBERNETES_VERSION}",
        f"kube-scheduler:{KUBERNETES_VERSION}",
        f"kube-proxy:{KUBERNETES_VERSION}",
        "etcd:3.6.8-0",
        "coredns:v1.14.2",
        "pause:3.10.2",
        "paceline-cni:1",
    }
    assert Tree(Path("tools")) in images[f"registry.k8s.io/kube-proxy:{KUBERNETES_VERSION}"].layers
    assert f"image: {CNI_IMAGE}\n" in (FILES / "default-cni.yaml").read_text()


def test_libraries_are_read_from_what_ldd_says() -> None:
    said = (
        "/usr/sbin/ip:\n\tlinux-vdso.so.1 (0x00007ffd)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)\n"
        "\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n\tlibgone.so => not found\n"
    )
    assert parse_ldd(said) == ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"]


def test_another_file_or_package_makes_another_image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = image_key()
    assert before == image_key()
    (tmp_path / "default-cni.yaml").write_text("changed")
    with monkeypatch.context() as patch:
        patch.setattr(node_files, "FILES", tmp_path)
        assert image_key() != before
    monkeypatch.setattr(node_image, "NODE_PACKAGES", (*NODE_PACKAGES, "vim"))
    assert image_key() != before


def test_the_order_of_packages_does_not_matter() -> None:
    assert rootfs_key(["b", "a"]) == rootfs_key(["a", "b"])
    assert rootfs_key(["a"]) != rootfs_key(["a", "b"])


def test_of_old_images_the_three_used_last_are_kept(tmp_path: Path) -> None:
    for age in range(5):
        image = tmp_path / f"image{age}.tar.gz"
        image.touch()
        os.utime(image, (1000 - age, 1000 - age))
    prune(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.gz")) == ["image0.tar.gz", "image1.tar.gz", "image2.tar.gz"]
