"""Root file systems of Debian: made by debootstrap from the machine's own mirror, and kept."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from paceline_dev.errors import DevError
from paceline_dev.kind.folders import made_once
from paceline_dev.kind.packages import KEYRING, find_mirror, unpacked
from paceline_dev.kind.places import Places
from paceline_dev.progress import Reporter, Task

SUITE = "bookworm"  # its systemd 252 still boots on cgroup version 1

NODE_PACKAGES = (
    *("systemd", "dbus", "util-linux", "mount", "kmod", "procps", "bash", "libc-bin", "tar", "gzip", "jq"),
    *("conntrack", "iptables", "nftables", "iproute2", "ethtool", "socat", "iputils-ping", "curl", "ca-certificates"),
    *("runc", "libseccomp2", "e2fsprogs"),
)
UNNEEDED = ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale")


def rootfs_key(include: Sequence[str]) -> str:
    """The same packages of the same suite have the same key."""
    return f"{SUITE}-{hashlib.sha256(','.join(sorted(include)).encode()).hexdigest()[:12]}"


def debian(places: Places, include: Sequence[str], title: str, report: Reporter) -> Path:
    """A root file system with these packages; whoever changes it works on a copy."""

    def make(folder: Path) -> None:
        packages = unpacked(places, report)
        with report.task(f"making {title} with debootstrap") as task:
            debootstrap(packages, folder, SUITE, include, places.logs / "debootstrap.log", task)
            for unneeded in UNNEEDED:
                for path in (folder / unneeded).glob("*"):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            (folder / "etc/apt/sources.list").unlink(missing_ok=True)  # there is no mirror where this will run

    return made_once(places.cache / "rootfs" / rootfs_key(include), report, make)


def debootstrap(packages: Path, folder: Path, suite: str, include: Sequence[str], log: Path, task: Task) -> None:
    """Fill a folder with a minimal Debian and these packages; nothing that is kept names the mirror."""
    mirror = find_mirror()
    command = [str(packages / "usr/sbin/debootstrap"), "--variant=minbase", f"--include={','.join(include)}"]
    environment = {**os.environ, "DEBOOTSTRAP_DIR": str(packages / "usr/share/debootstrap"), "LC_ALL": "C"}
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w", buffering=1) as written,
        subprocess.Popen(
            [*command, f"--keyring={KEYRING}", suite, folder, mirror],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            told = line.replace(mirror, "the mirror")
            written.write(told)
            task.advance(told.strip().removeprefix("I: ").rstrip("."))
    if process.returncode != 0:
        raise DevError(f"debootstrap failed: {_reason(log.read_text())} (full log: {log})")


def _reason(said: str) -> str:
    """The last error."""
    lines = said.splitlines()
    errors = [line.removeprefix("E: ") for line in lines if line.startswith("E: ")] or lines[-1:] or ["it said nothing"]
    return errors[-1]
