"""Turns a Debian root file system into a kind node: kind's own base files, the programs, and a few changes.

The changes are for a machine that is closed and whose root may lack CAP_SYS_RESOURCE, as in many a container.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from paceline_dev.errors import DevError
from paceline_dev.gobuild import KUBERNETES_VERSION
from paceline_dev.kind.programs import CNI_PLUGINS, CONTAINERD_PROGRAMS, PAUSE_VERSION

FILES = Path(__file__).parent / "files"
MOUNT_HOOK = {"path": "/kind/bin/mount-product-files.sh"}
ENABLED = ("kubelet.service", "containerd.service", "undo-mount-hacks.service")
# What kind's Dockerfile removes: a container has no disks to check, no devices to wait for and no console.
_UNWANTED = (
    "lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
    "lib/systemd/system/multi-user.target.wants/*",
    "etc/systemd/system/*.wants/*",
    "lib/systemd/system/local-fs.target.wants/*",
    "lib/systemd/system/sockets.target.wants/*udev*",
    "lib/systemd/system/sockets.target.wants/*initctl*",
    "lib/systemd/system/basic.target.wants/*",
    # Debian's own settings are the whole machine's (kernel.pid_max); kind's, copied later, are the node's network.
    "usr/lib/sysctl.d/*",
    "etc/sysctl.d/*",
)


def fill(root: Path, kind_base: Path, programs: Mapping[str, Path]) -> None:
    """Add everything but the preloaded images."""
    _trim(root)
    _overlay(kind_base, root)
    for scripts in (root / "usr/local/bin", root / "kind/bin"):
        _make_executable(scripts)
    for folder in ("opt/cni/bin", "etc/kubernetes/manifests", "etc/cni/net.d", "kind/manifests"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for program in CONTAINERD_PROGRAMS:
        _install(programs[program.name], root / "usr/local/bin")
    for plugin in CNI_PLUGINS:
        _install(programs[plugin.name], root / "opt/cni/bin")
    for name in ("kubeadm", "kubelet", "kubectl"):
        _install(programs[name], root / "usr/bin")
    for manifest in ("default-cni.yaml", "default-storage.yaml"):
        shutil.copy(FILES / manifest, root / "kind/manifests")
    _install(FILES / "closed-entrypoint", root / "kind/bin")
    (root / "kind/version").write_text(KUBERNETES_VERSION)
    config = root / "etc/containerd/config.toml"
    config.write_text(containerd_config(config.read_text()))
    spec = _answer([programs["ctr"], "oci", "spec"])
    (root / "etc/containerd/cri-base.json").write_text(base_spec(spec))
    _set_up_systemd(root)


def containerd_config(text: str) -> str:
    """The configuration of kind for a node that may not lower OOM scores and has kubeadm's pause image, not kind's.

    Each change must find its place: a new kind with another file must not go through silently.
    """
    for pattern, replacement in (
        (r"restrict_oom_score_adj = false", "restrict_oom_score_adj = true"),
        (r'registry\.k8s\.io/pause:[\w.]+"', f'registry.k8s.io/pause:{PAUSE_VERSION}"'),
        (r"\[proxy_plugins\]\n(?:.*\n)*?.*address = .*\n", ""),  # fuse-overlayfs is not in the image
    ):
        text, count = re.subn(pattern, replacement, text)
        if count != 1:
            raise DevError(f"kind's containerd configuration has {count} places for {pattern}, not one: look into it")
    return text


def base_spec(spec: str) -> str:
    """What every container starts from: kind's hook, and no limits that need CAP_SYS_RESOURCE to raise."""
    parsed = json.loads(spec)
    parsed.setdefault("hooks", {}).setdefault("createContainer", []).append(MOUNT_HOOK)
    parsed["process"].pop("rlimits", None)
    return json.dumps(parsed, indent=2)


def _trim(root: Path) -> None:
    for pattern in _UNWANTED:
        for path in root.glob(pattern):
            path.unlink()


def _set_up_systemd(root: Path) -> None:
    """Enable kind's units, as `systemctl enable` would."""
    units = root / "etc/systemd/system"
    wants = units / "multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    for unit in ENABLED:
        (wants / unit).symlink_to(f"/etc/systemd/system/{unit}")
    (units / "systemd-binfmt.service").symlink_to("/dev/null")
    with (root / "etc/systemd/journald.conf").open("a") as journald:
        journald.write("ReadKMsg=no\n")
    init = root / "sbin/init"
    init.unlink(missing_ok=True)
    init.symlink_to("/lib/systemd/systemd")
    (root / "etc/machine-id").write_text("")


def _overlay(source: Path, root: Path) -> None:
    """Copy files with modes of their own: Go keeps modules read-only, folders too."""
    for path in sorted(source.rglob("*")):
        target = root / path.relative_to(source)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        else:
            shutil.copyfile(path, target)
            target.chmod(0o644)


def _make_executable(folder: Path) -> None:
    for path in folder.iterdir():
        path.chmod(0o755)


def _install(program: Path, folder: Path) -> None:
    shutil.copyfile(program, folder / program.name)
    (folder / program.name).chmod(0o755)


def _answer(command: list[str | Path]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"{Path(command[0]).name} failed: {done.stderr.strip()}")
    return done.stdout
