"""The container images that a node brings along, under the names by which kubeadm asks for them."""

from collections.abc import Mapping
from pathlib import Path

from paceline_dev.gobuild import KUBERNETES_VERSION
from paceline_dev.kind.archive import Image, Program, Tree
from paceline_dev.kind.programs import COREDNS_VERSION, ETCD_IMAGE_TAG, PAUSE_VERSION

REGISTRY = "registry.k8s.io"
CNI_IMAGE = "localhost/paceline-cni:1"


def node_images(programs: Mapping[str, Path], network_tools: Path) -> list[Image]:
    """All images of a cluster's own pods."""

    def kubernetes(name: str, *below: Tree) -> Image:
        return Image(
            f"{REGISTRY}/{name}:{KUBERNETES_VERSION}", (*below, Program(programs[name], f"/usr/local/bin/{name}"))
        )

    tools = Tree(network_tools)
    return [
        kubernetes("kube-apiserver"),
        kubernetes("kube-controller-manager"),
        kubernetes("kube-scheduler"),
        kubernetes("kube-proxy", tools),
        Image(f"{REGISTRY}/etcd:{ETCD_IMAGE_TAG}", (Program(programs["etcd"], "/usr/local/bin/etcd"),)),
        Image(
            f"{REGISTRY}/coredns/coredns:{COREDNS_VERSION}",
            (Program(programs["coredns"], "/coredns"),),
            ("/coredns",),
            "65532:65532",
        ),
        Image(f"{REGISTRY}/pause:{PAUSE_VERSION}", (Program(programs["pause"], "/pause"),), ("/pause",), "65535:65535"),
        Image(CNI_IMAGE, (tools, Program(programs["cni"], "/cni")), ("/cni",)),
    ]
