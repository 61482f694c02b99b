"""On what a run was made: enough to judge the figures, nothing that says whose machine it was."""

import os
import platform
import statistics
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Final

PACKAGES: Final = (
    "asyncpg", "uvloop", "pgqueuer", "procrastinate", "chancy", "saq", "psycopg", "kopf", "kubernetes", "pydantic",
)  # fmt: skip
SYNCS: Final = 50


def machine() -> dict[str, object]:
    """Cores, memory, kernel, who else was busy, and what it costs to make 8 KiB durable where the database will be."""
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "load_before": round(os.getloadavg()[0], 1),
        "fdatasync_us": round(_fdatasync() * 1e6),
    }


def versions() -> dict[str, str]:
    """Python and every package whose speed is in the figures; PostgreSQL adds its own."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _fdatasync() -> float:
    """Seconds, median: a few microseconds mean that no disk is behind it, and that the figures flatter everybody."""
    took = []
    with tempfile.TemporaryFile() as file:
        for _ in range(SYNCS):
            os.pwrite(file.fileno(), b"x" * 8192, 0)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return statistics.median(took)
