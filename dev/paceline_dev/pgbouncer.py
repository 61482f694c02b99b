"""PgBouncer 1.18, the oldest that we promise to work behind, without an installation: Debian's package in the cache."""

import shutil
from pathlib import Path

from paceline_dev.cache import cache_root
from paceline_dev.errors import DevError
from paceline_dev.kind.packages import fetched, packages_key
from paceline_dev.progress import Reporter

# Its other libraries (OpenSSL, PAM, systemd's) are on every Debian.
PACKAGES = ("pgbouncer/bookworm", "libc-ares2/bookworm", "libevent-2.1-7/bookworm")


def programs(report: Reporter) -> Path:
    """The folder with its files, fetched on first use; an error that says what is missing where that cannot be."""
    if missing := [tool for tool in ("apt-get", "dpkg") if shutil.which(tool) is None]:
        raise DevError(f"PgBouncer comes from Debian, and there is no {missing[0]} on this machine")
    return fetched(cache_root() / "pgbouncer" / packages_key(PACKAGES), PACKAGES, "PgBouncer", report)
