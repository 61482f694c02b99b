"""What a runner is told when it starts. Whatever is wrong with it is said then, not when the first job comes."""

import dataclasses
import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from paceline.errors import InvalidInputError
from paceline.job import TAG, need
from paceline.taint import parse_taints

MARGIN: Final = 3.0
"""Seconds before the end of its lease in which a runner does nothing any more."""
NAME = re.compile(r"[a-z0-9]([-a-z0-9_.]{0,251}[a-z0-9])?")
MOST_DISPATCHERS: Final = 4
SLOWEST_BEAT: Final = 15.0
"""Seconds between heartbeats to a gateway: they confirm runs, for which there are 30 s."""
TOKEN: Final = re.compile(r"rk_[0-9a-z]{12}_[0-9A-Za-z_-]{43}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """Where a runner without a database login dials, and what lets it in."""

    url: str
    token: str = dataclasses.field(default="", repr=False)
    token_file: Path | None = None
    """Read anew for every registration: the token may have been replaced."""
    ca: Path | None = None
    """Certificates to trust instead of the system's."""

    def __post_init__(self) -> None:
        """Check every field, and that there is a token."""
        parts = urlsplit(self.url)
        need(
            parts.scheme in ("https", "http") and parts.hostname and "@" not in parts.netloc
            and not parts.query and not parts.fragment,
            f'gateway "{self.url.rpartition("@")[2]}" is no address of one (write it like https://gateway.example.com)',
        )  # fmt: skip
        self.secret()
        if self.ca is not None:
            import ssl  # only here, and in the client: it takes 10 ms

            try:
                ssl.create_default_context(cafile=self.ca)
            except OSError as error:
                raise InvalidInputError(f"gateway-ca {self.ca} has no certificates in PEM: {error}") from None

    def secret(self) -> str:
        """The token; no error shows it."""
        found, where = self.token, "PACELINE_TOKEN"
        if self.token_file is not None:
            where = f"token-file {self.token_file}"
            try:
                found = self.token_file.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise InvalidInputError(f"{where} cannot be read: {error}") from None
        need(
            TOKEN.fullmatch(found),
            f"{where} has no token of a runner, which begins with rk_ (make one: paceline token create --runner NAME)",
        )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All times are in seconds."""

    database_url: str = ""
    gateway: Gateway | None = None
    """Instead of the database."""
    listen_url: str | None = None
    """For heartbeats and wake-ups, where the other one goes through PgBouncer."""
    name: str
    pool: str = "default"
    namespace: str = ""
    group: str | None = None
    """None: no operator, the pool is its own group."""
    install: str | None = None
    external: bool = True
    pod_uid: str | None = None
    pod_name: str | None = None
    revision: str | None = None
    tags: tuple[str, ...] = ()
    taints: str | None = None
    """Of the Runner, by this process; None leaves those that it has."""
    slots: int = 4
    batch: int = 50
    dispatchers: int = 1
    heartbeat: float = 10.0
    lease: float = 30.0
    tick: float = 0.1
    drain_timeout: float = 300.0
    grace: float = 5.0
    """How long an attempt may go on after it was told to stop."""
    max_jobs: int = 0
    """Leave after so many; 0 is for ever."""
    host: str = "0.0.0.0"  # noqa: S104 -- probes come from outside the pod
    port: int | None = 8080
    """None: it listens nowhere."""

    def __post_init__(self) -> None:
        """Check every field."""
        need(
            NAME.fullmatch(self.name) or (self.gateway is not None and not self.name),  # the token says it
            f'name "{self.name}" is none for a runner (at most 253 small letters, digits, "-", "_", ".")',
        )
        for field, value in (("slots", self.slots), ("batch size", self.batch)):
            need(1 <= value <= 10_000, f"{field} {value} is out of range (1 to 10000)")
        need(
            1 <= self.dispatchers <= MOST_DISPATCHERS,
            f"dispatchers {self.dispatchers} is out of range (1 to {MOST_DISPATCHERS})",
        )
        need(self.heartbeat > 0, f"heartbeat interval {self.heartbeat:g} s is out of range (above 0)")
        need(
            self.gateway is None or 1 <= self.heartbeat <= SLOWEST_BEAT,
            f"heartbeat interval {self.heartbeat:g} s is out of range (1 to {SLOWEST_BEAT:g} with a gateway)",
        )
        need(
            self.lease >= self.heartbeat + 2 * MARGIN,
            f"stale threshold {self.lease:g} s is too short for a heartbeat every {self.heartbeat:g} s "
            f"(at least {self.heartbeat + 2 * MARGIN:g} s, three heartbeats are usual)",
        )
        need(self.tick > 0, f"tick interval {self.tick * 1000:g} ms is out of range (above 0)")
        need(self.drain_timeout >= 0, f"drain timeout {self.drain_timeout:g} s is negative (0 or more)")
        need(self.max_jobs >= 0, f"max jobs {self.max_jobs} is negative (0 is for ever)")
        for tag in self.tags:
            need(TAG.fullmatch(tag), f'tag "{tag}" is no name (at most 63 letters, digits, "-", "_", ".")')
        parse_taints(self.taints or "")


def made_up_name() -> str:
    """The host's name, and the process: two runners on one machine are two Runners."""
    host = re.sub(r"[^-a-z0-9_.]", "-", socket.gethostname().lower()).strip("-_.")[:200] or "runner"
    return f"{host}-{os.getpid()}"


def parse_listen(text: str) -> tuple[str, int]:
    """`host:port`, `:port` or `[::1]:port`."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65_535:
        raise InvalidInputError(f'listen address "{text}" is none (write it like 0.0.0.0:8080)')
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 -- as the default


def parse_group(text: str) -> tuple[str, str]:
    """A RunnerGroup as `namespace/name`, or `name` in the namespace `default`."""
    namespace, slash, name = text.rpartition("/")
    if not name or "/" in namespace or (slash and not namespace):
        raise InvalidInputError(f'group "{text}" is none (write it like builds or ci/builds)')
    return namespace or "default", name
