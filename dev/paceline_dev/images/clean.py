"""What is taken out of a fresh Debian root file system before it becomes a base: what no container reads.

Also everything that names the mirror of the machine on which it was made.
"""

import shutil
from pathlib import Path

ARCHIVE = "root.tar.gz"
EMPTIED = ("var/cache/apt", "var/lib/apt/lists", "var/log", "run", "tmp", "var/tmp")
REMOVED = (
    "etc/apt/sources.list", "etc/hostname", "etc/machine-id", "etc/resolv.conf", "usr/share/info", "usr/share/locale",
    "usr/share/man", "var/cache/debconf/config.dat-old", "var/cache/debconf/templates.dat-old",
    "var/cache/ldconfig/aux-cache", "var/lib/dpkg/diversions-old", "var/lib/dpkg/status-old",
    "var/lib/systemd/catalog",
)  # fmt: skip


def clean(root: Path) -> None:
    """Leave what runs, and the copyright files that must go with it."""
    for name in REMOVED:
        _remove(root / name)
    for name in EMPTIED:
        for path in (root / name).iterdir() if (root / name).is_dir() else ():
            _remove(path)
    for path in [*(root / "usr/share/doc").rglob("*")]:
        if path.name != "copyright" and (path.is_symlink() or not path.is_dir()):
            path.unlink()
    # the images bring their own compiled modules, unchecked; python:3.13-slim has none either
    for path in [*root.glob("usr/**/__pycache__")]:
        shutil.rmtree(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
