"""Prometheus and promtool without an installation: Debian's package in the cache."""

import shutil
from pathlib import Path

from paceline_dev.cache import cache_root
from paceline_dev.errors import DevError
from paceline_dev.kind.packages import fetched, packages_key
from paceline_dev.progress import Reporter

PACKAGES = ("prometheus/bookworm",)  # a Go program: it needs nothing but the C library


def programs(report: Reporter) -> Path:
    """The folder with both, fetched on first use; an error that says what is missing where that cannot be."""
    if missing := [tool for tool in ("apt-get", "dpkg") if shutil.which(tool) is None]:
        raise DevError(f"Prometheus comes from Debian, and there is no {missing[0]} on this machine")
    return fetched(cache_root() / "prometheus" / packages_key(PACKAGES), PACKAGES, "Prometheus", report) / "usr/bin"
