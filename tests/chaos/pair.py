"""A primary and its synchronous standby, each with a file system of its own, and ways that lead to the primary."""

import asyncio
import contextlib
import ctypes
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import psutil

from paceline.testing import Programs, bundled, installed
from paceline.testing.guard import Guarded
from paceline.testing.postgres import USER, _account, _executable, _initialise, _ready
from paceline.testing.scratch import free_ports
from support.proxy import Proxy, proxy

DATABASE = "postgres"
ROOM = "1500m"
"""Of each server: data, log and the record of half an hour."""
CLONE_NEWNS = 0x20000
SETTINGS = {
    "listen_addresses": "127.0.0.1", "max_connections": "150", "fsync": "off", "synchronous_commit": "on",
    "full_page_writes": "on", "wal_level": "replica", "hot_standby": "on", "max_wal_size": "128MB",
    "min_wal_size": "32MB", "wal_keep_size": "64MB",
}  # fmt: skip
"""A crash of the server loses nothing with these; one of the machine would."""
SYNCHRONOUS = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')"
PATIENCE = 60.0


def private_mounts() -> bool:
    """Have mounts that nobody else sees and that go with our processes; whether that is possible here."""
    if os.geteuid() != 0 or ctypes.CDLL(None).unshare(CLONE_NEWNS) != 0:
        return False
    return subprocess.run(["mount", "--make-rprivate", "/"], check=False, capture_output=True).returncode == 0


class Server:
    """One of the two: a data folder, and a process that serves it or not."""

    def __init__(self, programs: Programs, folder: Path, password: str, *, limited: bool) -> None:
        self.folder, self.password = folder, password
        self.port = free_ports(1)[0]
        self._programs, self._limited = programs, limited
        self.process: Guarded | None = None
        folder.mkdir(mode=0o755)
        if limited:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=755", "tmpfs", folder], check=True)
        if account := _account():
            os.chown(folder, *account)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"

    def initialise(self) -> None:
        """Begin with an empty cluster."""
        _initialise(self._programs, self.data, self.password)

    def copy(self, primary: "Server") -> None:
        """Begin as the standby of another."""
        shutil.rmtree(self.data, ignore_errors=True)
        uid, gid = _account() or (None, None)
        subprocess.run(
            [self._programs.folder / "pg_basebackup", "-D", self.data, "-d", primary.url, "-X", "stream", "-c", "fast",
             "-R"],
            check=True, capture_output=True, cwd="/", user=uid, group=gid, extra_groups=None if gid is None else [gid],
        )  # fmt: skip

    def start(self) -> None:
        """Serve, also after a crash."""
        words: list[str | Path] = [self._programs.folder / "postgres", "-D", self.data]
        for name, value in {**SETTINGS, "port": str(self.port), "unix_socket_directories": str(self.folder)}.items():
            words += ["-c", f"{name}={value}"]
        self.process = Guarded(words, log=self.log, account=_account(), stop_signal=signal.SIGINT)
        if not _ready(self.process, self.data):
            self.process.stop()
            raise TimeoutError(f"PostgreSQL did not start: {self.log.read_text(errors='replace')[-2000:]}")

    def alive(self) -> bool:
        return self.process is not None and self.process.alive()

    def crash(self) -> None:
        """PostgreSQL's immediate shutdown: nothing is written any more."""
        assert self.process
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGQUIT)
        self.process.stop()

    def stop(self) -> None:
        """For good: its file system goes too."""
        if self.process:
            self.process.stop()
        if self._limited:
            subprocess.run(["umount", "-l", self.folder], check=False, capture_output=True)

    def receiver(self) -> psutil.Process | None:
        """The process of a standby that takes what the primary writes."""
        assert self.process
        with contextlib.suppress(psutil.Error):
            for each in psutil.Process(self.process.pid).children():
                if "walreceiver" in " ".join(each.cmdline()):
                    return each
        return None

    def complaints(self, words: str) -> int:
        """How often it has said that."""
        return self.log.read_text(errors="replace").count(words)

    @property
    def filler(self) -> Path:
        return self.folder / "filler"

    def fill(self) -> None:
        """Take all room that is left, and what becomes free meanwhile."""
        with self.filler.open("ab") as file, contextlib.suppress(OSError):
            block = b"\0" * 2**20
            while True:
                file.write(block)
                file.flush()

    def make_room(self) -> None:
        self.filler.unlink(missing_ok=True)


class Pair:
    """The two, and who is what."""

    def __init__(self, folder: Path, *, limited: bool) -> None:
        programs, password = _executable(installed(15) or bundled()), secrets.token_hex(8)
        self.limited = limited
        self.primary, self.standby = (
            Server(programs, folder / name, password, limited=limited) for name in ("first", "second")
        )
        self.ways: dict[str, Proxy] = {}

    async def start(self) -> None:
        await asyncio.to_thread(self.primary.initialise)
        await asyncio.to_thread(self.primary.start)
        await self.add_standby()

    async def add_standby(self) -> None:
        """From now on nothing is committed that the standby does not have too."""
        await asyncio.to_thread(self.standby.copy, self.primary)
        await asyncio.to_thread(self.standby.start)
        async with self.connected() as connection:
            await _wait_for_standbys(connection, "*")
            end = time.monotonic() + PATIENCE
            while not await connection.fetchval(SYNCHRONOUS):
                assert time.monotonic() < end, "the standby never became synchronous"
                await asyncio.sleep(0.05)

    async def fail_over(self) -> None:
        """The primary is lost for good; whoever connects from now on comes to its standby."""
        lost, heir = self.primary, self.standby
        await asyncio.to_thread(lost.crash)
        self.primary, self.standby = heir, lost
        async with self.connected() as connection:
            await connection.fetchval("SELECT pg_promote()")
            await _wait_for_standbys(connection, "")
        for way in self.ways.values():
            way.lead_to(heir.url)
            way.cut()

    @contextlib.asynccontextmanager
    async def connected(self) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
        """To the primary itself, by the owner's login."""
        connection = await asyncpg.connect(self.primary.url, timeout=30)
        try:
            yield connection
        finally:
            await connection.close()

    def stop(self) -> None:
        for server in (self.standby, self.primary):
            server.stop()


async def _wait_for_standbys(connection: "asyncpg.Connection[asyncpg.Record]", names: str) -> None:
    await connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    await connection.execute("SELECT pg_reload_conf()")


@contextlib.asynccontextmanager
async def pair(folder: Path, *ways: str, limited: bool) -> AsyncIterator[Pair]:
    """Up and in step, with a way for each name."""
    made = Pair(folder, limited=limited)
    try:
        await made.start()
        async with contextlib.AsyncExitStack() as stack:
            for name in ways:
                made.ways[name] = await stack.enter_async_context(proxy(made.primary.url))
            yield made
    finally:
        await asyncio.to_thread(made.stop)
