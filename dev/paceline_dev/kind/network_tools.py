"""The layer with iptables, nft, ip and conntrack that kube-proxy and the CNI daemon are built on.

The plugins of iptables have libraries of their own (libxt_statistic needs libm). Without them Services with one
endpoint work and those with several silently do not, so the layer is tried before it is used.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from paceline_dev.errors import DevError
from paceline_dev.kind.packages import SYSTEM_PATH

PROGRAMS = ("xtables-nft-multi", "nft", "ip", "conntrack")
MODES = tuple(f"{table}{action}" for table in ("iptables", "ip6tables") for action in ("", "-save", "-restore"))
_LIBRARY = re.compile(r"(?:=> |^\s*)(/\S+) \(0x", re.MULTILINE)


def make_network_tools(root: Path, layer: Path) -> None:
    """Copy the programs from a root file system, with all that they load."""
    for folder in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "tmp", "run"):
        (layer / folder).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (layer / name).symlink_to(f"usr/{name}")
    programs = [_find(root, name) for name in PROGRAMS]
    plugins = sorted(path for path in root.glob("usr/lib/*-linux-gnu*/xtables/*.so") if not path.is_symlink())
    for program in programs:
        shutil.copy2(program, layer / "usr/sbin" / program.name)
    for shelf in {plugin.parent for plugin in plugins}:
        shutil.copytree(shelf, layer / shelf.relative_to(root), symlinks=True)
    for library in _libraries(root, [*programs, *plugins]):
        target = layer / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / library.lstrip("/"), target)
    for mode in MODES:
        (layer / "usr/sbin" / mode).symlink_to("xtables-nft-multi")
    _try(layer, plugins)


def parse_ldd(text: str) -> list[str]:
    """The files in the output of ldd."""
    return _LIBRARY.findall(text)


def _find(root: Path, name: str) -> Path:
    found = [root / folder / name for folder in ("usr/sbin", "usr/bin") if (root / folder / name).exists()]
    if not found:
        raise DevError(f"the root file system {root} has no {name}: remove it and run this again")
    return found[0]


def _libraries(root: Path, files: Iterable[Path]) -> list[str]:
    inside = [f"/{file.relative_to(root)}" for file in files]
    asked = subprocess.run(["chroot", root, "ldd", *inside], capture_output=True, text=True, check=False)
    return sorted(set(parse_ldd(asked.stdout)))


def _try(layer: Path, plugins: Iterable[Path]) -> None:
    """Load what kube-proxy uses: one that does not load makes it fail at its first rule."""
    names = {plugin.stem for plugin in plugins}
    if missing := {"libxt_statistic", "libxt_comment", "libxt_addrtype", "libxt_conntrack"} - names:
        raise DevError(f"iptables in the root file system lacks {', '.join(sorted(missing))}")
    for match in ("statistic", "comment", "addrtype", "conntrack"):
        command = ["chroot", str(layer), "/usr/sbin/iptables", "-m", match, "-h"]
        done = subprocess.run(
            command, env={"PATH": os.pathsep.join(SYSTEM_PATH)}, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise DevError(f"iptables cannot load its match {match} in the layer: {done.stderr.strip()}")
