"""PgBouncer in transaction mode before a test's server.

The databases that a test gets are reached through it; what makes and drops them goes to the server itself, and so does
whatever must hold a session. Logins are checked as in production: PgBouncer looks their secret up in the server
(`auth_query`), takes a client in by SCRAM, and goes on to the server with the same key.
"""

import contextlib
import os
import shutil
import socket
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import pytest

from paceline.testing import PostgresServer
from paceline.testing.guard import Guarded
from paceline.testing.postgres import _account
from paceline.testing.scratch import free_ports, last_words, memory_folder
from paceline_dev.errors import DevError
from paceline_dev.pgbouncer import programs
from paceline_dev.progress import stderr_reporter
from support.shared import shared

START_SECONDS = 30.0
SETTINGS = """\
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
server_idle_timeout = 2
"""
"""Every test has databases of its own, so connections that idle are given up soon: the server has 300."""


class BouncedServer(PostgresServer):
    """A server whose databases are reached through PgBouncer."""

    def __init__(self, url: str, port: int) -> None:
        """`url` is the server's own, `port` PgBouncer's on this machine."""
        super().__init__(url)
        self._port = port

    @contextlib.asynccontextmanager
    async def database(self, template: str = "template0") -> AsyncIterator[str]:
        """A fresh database, by the way through PgBouncer."""
        async with super().database(template) as url:
            yield _at(url, f"127.0.0.1:{self._port}")

    def direct(self, url: str) -> str:
        """The way past PgBouncer to the same database."""
        return _at(url, urlsplit(self.url).netloc.rpartition("@")[2])


def bounced(factory: pytest.TempPathFactory, server: PostgresServer) -> BouncedServer:
    """The same server behind PgBouncer, which is started once for a run."""

    def start(owner: int) -> tuple[object, dict[str, str]]:
        process, port = _start(_fetched(), server.url, owner)
        return process, {"port": str(port)}

    port = shared(factory, f"bouncer-{urlsplit(server.url).port}", start)["port"]
    return BouncedServer(server.url, int(port))


def _fetched() -> Path:
    """Its files; where they cannot be had the test says so (and fails, in CI)."""
    try:
        return programs(stderr_reporter())
    except DevError as error:
        pytest.skip(f"PgBouncer cannot be had: {error}")


def _start(fetched: Path, url: str, owner: int) -> tuple[Guarded, int]:
    parts, listen = urlsplit(url), free_ports(1)[0]
    folder = Path(tempfile.mkdtemp(prefix="paceline-bouncer-", dir=memory_folder()))
    program = _installed(fetched, folder)
    (folder / "users").write_text(f'"{parts.username}" "{unquote(parts.password or "")}"\n')
    (folder / "settings").write_text(
        SETTINGS.format(host=parts.hostname, port=parts.port or 5432, user=parts.username, listen=listen, folder=folder)
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


def _installed(fetched: Path, folder: Path) -> Path:
    """The program and its libraries, where the account that runs it may read: the cache may be root's alone."""
    for library in fetched.glob("usr/lib/*/*.so.*"):
        shutil.copy(library, folder / library.name)
    return Path(shutil.copy(fetched / "usr/sbin/pgbouncer", folder))


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _at(url: str, place: str) -> str:
    parts = urlsplit(url)
    login, _, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{login}@{place}"))
