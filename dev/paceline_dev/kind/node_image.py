"""The node image of a kind cluster, made here because there is no registry to pull it from.

It is kept gzipped (about 300 MB), since the engine's own copy goes with the engine.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from paceline_dev.cache import locked, publish, require_space
from paceline_dev.errors import DevError
from paceline_dev.gobuild import KUBERNETES_VERSION, build_key
from paceline_dev.kind import archive, daemons, images, network_tools, node_files, programs
from paceline_dev.kind.engine import Engine
from paceline_dev.kind.folders import remove
from paceline_dev.kind.host import IMAGE_SPACE
from paceline_dev.kind.namespace import Namespace
from paceline_dev.kind.places import Places
from paceline_dev.kind.rootfs import NODE_PACKAGES, debian, rootfs_key
from paceline_dev.progress import Reporter

REPOSITORY = "localhost/paceline-node"
CHANGES = (
    "ENV container=docker",  # systemd asks for it
    "STOPSIGNAL SIGRTMIN+3",
    'ENTRYPOINT ["/kind/bin/closed-entrypoint", "/sbin/init"]',
)
STORE_SECONDS = 30.0
KEPT = 3
_SHAPED_BY = (archive, images, network_tools, node_files, programs)


def image_key() -> str:
    """All that the image's content depends on: programs, packages, files and the code that puts them together."""
    digest = hashlib.sha256()
    for part in (build_key(), build_key(programs.PINS), rootfs_key(NODE_PACKAGES), repr(CHANGES)):
        digest.update(f"{part}\0".encode())
    sources = [Path(module.__file__ or "") for module in _SHAPED_BY] + [Path(__file__)]
    for file in sources + sorted(node_files.FILES.iterdir()):
        digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def image_name() -> str:
    """What kind is told to make nodes of."""
    return f"{REPOSITORY}:{KUBERNETES_VERSION}-{image_key()}"


def ensure_node_image(engine: Engine, places: Places, report: Reporter) -> str:
    """The image's name, after it has been built and imported if need be."""
    name = image_name()
    if engine.docker("image", "inspect", name, check=False).returncode == 0:
        return name
    kept = places.cache / "node-image" / f"{KUBERNETES_VERSION}-{image_key()}.tar.gz"
    if not kept.is_file():
        with locked(kept.with_name("build.lock"), report.line):  # one for all keys: leftovers are removed here
            # of a run that was killed: first who may still write there, then what is there
            daemons.stop_recorded(places.run / "preload" / "containerd.process", STORE_SECONDS)
            for leftover in kept.parent.glob(".*.tmp"):
                remove(leftover) if leftover.is_dir() else leftover.unlink()
            if not kept.is_file():
                _build(kept, places, report)
    kept.touch()  # the ones used last are kept
    with report.task("importing the node image"):
        changes = [word for change in CHANGES for word in ("--change", change)]
        engine.docker("import", *changes, str(kept), name)
    for other in engine.docker("images", REPOSITORY, "--format", "{{.Repository}}:{{.Tag}}").stdout.split():
        if other != name:
            engine.docker("image", "rm", other, check=False)  # one that is in use stays
    return name


def _build(kept: Path, places: Places, report: Reporter) -> None:
    require_space(places.cache, IMAGE_SPACE, "building the node image")
    found = programs.find_node_programs(report)
    base = programs.find_base_files(report)
    debian_root = debian(places, NODE_PACKAGES, "the nodes' root file system", report)
    scratch = Path(tempfile.mkdtemp(prefix=".build.", suffix=".tmp", dir=kept.parent))
    try:
        with report.task("putting the node image together") as task:
            root, tools = scratch / "root", scratch / "tools"
            subprocess.run(["cp", "--archive", "--reflink=auto", debian_root, root], check=True)
            task.advance("kind's files and the programs")
            node_files.fill(root, base, found)
            task.advance("iptables for kube-proxy")
            network_tools.make_network_tools(root, tools)
            task.advance("images of the control plane")
            archive.write_archive(scratch / "images.tar", images.node_images(found, tools))
            _preload(root, scratch, found, places)
            task.advance("packing")
            unfinished = kept.parent / f".{kept.name}.{os.getpid()}.tmp"
            _pack(root, unfinished)
            publish(unfinished, kept)
            prune(kept.parent)
    finally:
        remove(scratch)


def prune(folder: Path) -> None:
    """Keep the images that were used last: one changed line makes another 300 MB."""
    images_by_use = sorted(folder.glob("*.tar.gz"), key=lambda path: -path.stat().st_mtime)
    for old in images_by_use[KEPT:]:
        old.unlink()


def _preload(root: Path, scratch: Path, found: Mapping[str, Path], places: Places) -> None:
    """Let a short-lived containerd write the images into the store that the node's own will open.

    It runs no container, and is in the closed network like everything that could.
    """
    run = places.run / "preload"
    remove(run)
    run.mkdir(parents=True)
    plugins = ("grpc.v1.cri", "cri.v1.images", "cri.v1.runtime", "nri.v1.nri")
    disabled = ", ".join(f'"io.containerd.{plugin}"' for plugin in plugins)
    (run / "config.toml").write_text(
        f'version = 2\nroot = "{root}/var/lib/containerd"\nstate = "{run}/state"\ndisabled_plugins = [{disabled}]\n'
        f'[grpc]\n  address = "{run}/s"\n[ttrpc]\n  address = "{run}/s.ttrpc"\n'
    )
    namespace, log = Namespace.of(places), places.logs / "preload.log"
    command = namespace.inside([found["containerd"], "--config", run / "config.toml"])
    record = daemons.start(command, run / "containerd.process", log, {**os.environ})
    try:
        deadline = time.monotonic() + STORE_SECONDS
        while not (run / "s").is_socket():
            if not record.alive() or time.monotonic() > deadline:
                raise DevError(f"containerd did not start to take the images (log: {log})")
            time.sleep(daemons.POLL_SECONDS)
        options = ["--label=io.cri-containerd.pinned=pinned", "--all-platforms", "--no-unpack", "--digests"]
        ctr = [str(found["ctr"]), "--address", str(run / "s"), "--namespace", "k8s.io"]
        done = subprocess.run(
            [*ctr, "images", "import", *options, scratch / "images.tar"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise DevError(f"the images could not be put into the node: {done.stderr.strip()} (log: {log})")
    finally:
        record.stop(grace=10.0)
        remove(run)


def _pack(root: Path, output: Path) -> None:
    """Level 1: 60 MB more than level 6, in a third of the time."""
    with subprocess.Popen(["tar", "--directory", root, "--create", "."], stdout=subprocess.PIPE) as tar:
        assert tar.stdout is not None
        with gzip.open(output, "wb", compresslevel=1) as packed:
            shutil.copyfileobj(tar.stdout, packed, 2**20)
    if tar.returncode != 0:
        raise DevError("tar could not pack the node image: see whether the disk is full")
