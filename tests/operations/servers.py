"""PostgreSQL as it is run for real: an archive of its log, copies of it, standbys, and restores to a moment."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from paceline.testing import PostgresServer, Programs, bundled, installed
from paceline.testing.guard import Guarded
from paceline.testing.postgres import _account, _executable, _ready
from paceline.testing.scratch import free_ports, memory_folder

DATABASE = "shop"


@dataclass
class Machine:
    """A place for several servers with one archive; all of them end with it."""

    programs: Programs
    folder: Path
    running: list[Guarded] = field(default_factory=list)
    counted: int = 0

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    def own(self, path: Path) -> Path:
        """A folder that servers may write to."""
        path.mkdir(mode=0o700)
        if account := _account():
            os.chown(path, *account)
        return path

    def primary(self) -> PostgresServer:
        """A new server, which keeps its log in the archive."""
        keep = f"test ! -f {self.archive}/%f && cp %p {self.archive}/%f"
        return PostgresServer.start(
            self.programs,
            settings={
                "wal_level": "replica",
                "archive_mode": "on",
                "archive_command": keep,
                "synchronous_commit": "on",
            },
        )

    def copy(self, server: PostgresServer, *options: str) -> Path:
        """What pg_basebackup makes of it."""
        self.counted += 1
        place = self.own(self.folder / f"copy-{self.counted}")
        uid, gid = _account() or (None, None)
        subprocess.run(
            [self.programs.folder / "pg_basebackup", "-D", place, "-d", server.url, "-X", "stream", "-c", "fast",
             *options],
            check=True, capture_output=True, cwd="/", user=uid, group=gid, extra_groups=None if gid is None else [gid],
        )  # fmt: skip
        return place

    def serve(self, data: Path, like: PostgresServer, settings: Mapping[str, str]) -> PostgresServer:
        """Serve a copy, with the logins of the server that it was made of."""
        (port,) = free_ports(1)
        options = {
            "port": str(port), "listen_addresses": "127.0.0.1", "unix_socket_directories": str(self.folder),
            "max_connections": "300", "fsync": "off", **settings,
        }  # fmt: skip
        words: list[str | Path] = [self.programs.folder / "postgres", "-D", data]
        for name, value in options.items():
            words += ["-c", f"{name}={value}"]
        process = Guarded(
            words, log=self.folder / f"log-{port}", owner=None, account=_account(), stop_signal=signal.SIGINT,
            scratch=self.folder,
        )  # fmt: skip
        self.running.append(process)
        assert _ready(process, data), process.log.read_text()
        parts = urlsplit(like.url)
        netloc = f"{parts.netloc.rpartition(':')[0]}:{port}"
        return PostgresServer(urlunsplit(parts._replace(netloc=netloc)), process=process)

    def restore(self, data: Path, like: PostgresServer, point: str) -> PostgresServer:
        """Serve what a copy and the archive make of a restore point; it takes writes."""
        self.counted += 1
        fresh = self.own(self.folder / f"restored-{self.counted}")
        shutil.copytree(data, fresh, dirs_exist_ok=True)
        for path in (fresh, *fresh.rglob("*")):
            os.chown(path, *(_account() or (-1, -1)))
        (fresh / "recovery.signal").touch()
        return self.serve(fresh, like, {
            "restore_command": f"cp {self.archive}/%f %p", "recovery_target_name": point,
            "recovery_target_action": "promote", "hot_standby": "off",
        })  # fmt: skip


@contextlib.contextmanager
def machine() -> Iterator[Machine]:
    """A place that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="paceline-ops-", dir=memory_folder()))
    made = Machine(_executable(installed(15) or bundled()), folder)
    try:
        if account := _account():
            os.chown(folder, *account)
        made.own(made.archive)
        yield made
    finally:
        for process in made.running:
            process.stop()
        shutil.rmtree(folder, ignore_errors=True)


def at(server: PostgresServer, database: str = DATABASE) -> str:
    """The URL of a database of a server."""
    return urlunsplit(urlsplit(server.url)._replace(path=f"/{database}"))
