"""PgBouncer 1.18, the oldest that we promise to work behind, without an installation: Debian's package in the cache.

Logins are checked as in production: PgBouncer looks their secret up in the server (`auth_query`), takes a client in by
SCRAM, and goes on to the server with the same key.
"""

import contextlib
import os
import shutil
import socket
import tempfile
import time
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from paceline.testing.guard import Guarded
from paceline.testing.postgres import _account
from paceline.testing.scratch import free_ports, last_words, memory_folder
from paceline_dev.cache import cache_root
from paceline_dev.errors import DevError
from paceline_dev.kind.packages import fetched, packages_key
from paceline_dev.progress import Reporter

# Its other libraries (OpenSSL, PAM, systemd's) are on every Debian.
PACKAGES: Final = ("pgbouncer/bookworm", "libc-ares2/bookworm", "libevent-2.1-7/bookworm")
START_SECONDS: Final = 30.0
SETTINGS: Final = """\
[databases]
* = host={host} port={port} auth_user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
max_client_conn = 2000
default_pool_size = 20
server_idle_timeout = {idle}
"""


def programs(report: Reporter) -> Path:
    """The folder with its files, fetched on first use; an error that says what is missing where that cannot be."""
    if missing := [tool for tool in ("apt-get", "dpkg") if shutil.which(tool) is None]:
        raise DevError(f"PgBouncer comes from Debian, and there is no {missing[0]} on this machine")
    return fetched(cache_root() / "pgbouncer" / packages_key(PACKAGES), PACKAGES, "PgBouncer", report)


def start(found: Path, url: str, owner: int | None = None, *, idle: int = 600) -> tuple[Guarded, int]:
    """Serve all databases of the server behind `url` in transaction mode; its process, and its port on loopback.

    `idle`: the server's connections that nobody used for so many seconds are given up.
    """
    parts, listen = urlsplit(url), free_ports(1)[0]
    folder = Path(tempfile.mkdtemp(prefix="paceline-bouncer-", dir=memory_folder()))
    program = _installed(found, folder)
    (folder / "users").write_text(f'"{parts.username}" "{unquote(parts.password or "")}"\n')
    (folder / "settings").write_text(
        SETTINGS.format(
            host=parts.hostname, port=parts.port or 5432, user=parts.username, listen=listen, folder=folder, idle=idle
        )
    )
    account = _account()  # it refuses to run as root
    if account:
        for path in (folder, *folder.iterdir()):
            os.chown(path, *account)
    process = Guarded(
        [program, "-q", folder / "settings"],
        log=folder / "log",
        owner=owner,
        account=account,
        env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
        scratch=folder,
    )
    deadline = time.monotonic() + START_SECONDS
    while not _listens(listen):
        if not process.alive() or time.monotonic() > deadline:
            process.stop()
            raise DevError(f"PgBouncer did not start: {last_words(process.log.read_text(errors='replace'))}")
        time.sleep(0.01)
    return process, listen


def at(url: str, place: str) -> str:
    """The same login and database at another `host:port`."""
    parts = urlsplit(url)
    login, _, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{login}@{place}"))


def _installed(found: Path, folder: Path) -> Path:
    """The program and its libraries, where the account that runs it may read: the cache may be root's alone."""
    for library in found.glob("usr/lib/*/*.so.*"):
        shutil.copy(library, folder / library.name)
    return Path(shutil.copy(found / "usr/sbin/pgbouncer", folder))


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
