"""The Go programs of a kind cluster, all from pinned modules: kind itself, and what its nodes are made of."""

from pathlib import Path

from paceline_dev.binaries import built, built_folder
from paceline_dev.cache import cache_root
from paceline_dev.gobuild import NODE_PROGRAMS, PROGRAMS, GoBuild, Module, Program, build_key
from paceline_dev.golang import find_go
from paceline_dev.progress import Reporter

KIND_VERSION = "v0.33.0"
COREDNS_VERSION = "v1.14.2"
"""These, etcd's and pause's are the ones that kubeadm 1.36 names."""
ETCD_IMAGE_TAG = "3.6.8-0"
PAUSE_VERSION = "3.10.2"

PINS = Path(__file__).parent / "pins"
KIND_ROOT = f"sigs.k8s.io/kind@{KIND_VERSION}"

# containerd and the plugins are the versions that kind's own base image has.
_KIND = Module("kind", KIND_ROOT, 60 * 2**20, PINS)
_CONTAINERS = Module("containers", "github.com/containerd/containerd/v2@v2.3.4", 600 * 2**20, PINS)
_COREDNS = Module("coredns", f"github.com/coredns/coredns@{COREDNS_VERSION}", 500 * 2**20, PINS)
_NODE = Module("node", "", 0, PINS)

KIND = Program("kind", _KIND, "sigs.k8s.io/kind")
CONTAINERD_PROGRAMS = tuple(
    Program(name, _CONTAINERS, f"github.com/containerd/containerd/v2/cmd/{name}")
    for name in ("containerd", "ctr", "containerd-shim-runc-v2")
)
CNI_PLUGINS = tuple(
    Program(folder.rpartition("/")[2], _CONTAINERS, f"github.com/containernetworking/plugins/plugins/{folder}")
    for folder in ("ipam/host-local", "main/loopback", "main/ptp", "meta/portmap")
)
OTHERS = (
    Program("coredns", _COREDNS, "paceline.dev/pins/coredns"),
    Program("pause", _NODE, "paceline.dev/pins/node/pause"),
    Program("cni", _NODE, "paceline.dev/pins/node/cni"),
)


def kind_folder() -> Path:
    """Where kind and the node's other programs are kept."""
    return cache_root() / "kind" / "programs" / f"{KIND_VERSION}-{build_key(PINS)}"


def find_kind(report: Reporter) -> Path:
    """The kind program, built first if need be (10 s)."""
    return built(kind_folder(), [KIND], report) / KIND.name


def find_base_files(report: Reporter) -> Path:
    """The files that kind's own base image is made with; they are in its module."""
    folder = kind_folder()
    build = GoBuild(find_go(report), folder / "module", folder / "logs", PINS)
    try:
        return build.module_folder(_KIND) / "images" / "base" / "files"
    finally:
        build.close()


def find_node_programs(report: Reporter) -> dict[str, Path]:
    """All that goes into a node image, by name."""
    ours = [*CONTAINERD_PROGRAMS, *CNI_PLUGINS, *OTHERS]
    kubernetes = [*PROGRAMS, *NODE_PROGRAMS]
    found = {program.name: built(built_folder(), kubernetes, report) / program.name for program in kubernetes}
    return found | {program.name: built(kind_folder(), ours, report) / program.name for program in ours}
