"""What a gateway is told when it starts. Whatever is wrong with it is said then, not to the first caller."""

import re
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Final

from paceline.job import need
from paceline_gateway.way import Way

ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.\-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All times are in seconds."""

    database_url: str = field(default="", repr=False)
    listen_url: str | None = field(default=None, repr=False)
    """For wake-ups, where the other one goes through PgBouncer."""
    database_secret: Path | None = None
    """A folder with both of them, instead; it is read again."""
    host: str = "0.0.0.0"  # noqa: S104 -- it is there to be reached
    port: int = 8000
    connections: int = 10
    """To the database, at most; three more listen: for work, for the ends of jobs, for tokens that change."""
    max_body: int = 16 * 2**20
    """Bytes of a request."""
    max_requests: int = 10_000
    """Under way at once, those that wait for runs or results among them; and as many sockets."""
    body_seconds: float = 30.0
    """How long a body may take to come."""
    request_seconds: float = 60.0
    """How long a request may take that waits for nobody."""
    auth: bool = True
    """Whether a token is needed; without it the gateway may listen on a loopback address only."""
    proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies whose X-Forwarded-For is believed."""
    tls_certificate: str | None = None
    tls_key: str | None = None
    leave_seconds: float = 5.0
    """How long it is unready before it closes, so that nobody is sent here any more."""
    origins: tuple[str, ...] = ()
    """Web pages from elsewhere that may call; none by default."""

    def __post_init__(self) -> None:
        """Check every field."""
        need(1 <= self.connections <= 1000, f"connections {self.connections} is out of range (1 to 1000)")
        need(
            (self.tls_certificate is None) == (self.tls_key is None),
            "TLS needs both a certificate and its key (--tls-cert and --tls-key)",
        )
        need(self.leave_seconds >= 0, f"leave time {self.leave_seconds:g} s is negative (0 or more)")
        need(self.max_body >= 2**10, f"max body {self.max_body} is too small (at least 1024 bytes)")
        need(self.max_requests >= 1, f"max requests {self.max_requests} is too small (at least 1)")
        need(0 <= self.port < 2**16, f"port {self.port} is out of range (0 to 65535)")
        need(
            self.auth or is_loopback(self.host),
            f'without tokens (--no-auth) anybody who can reach "{self.host}" could do everything: '
            "listen on 127.0.0.1 or ::1",
        )
        self.way()
        for each in self.origins:
            need(ORIGIN.fullmatch(each), f'origin "{each}" is none (write it like https://pages.example.com)')
        for each in self.proxies:
            need(_is_network(each), f'proxy "{each}" is none (an address, or a network like 10.0.0.0/8)')

    def way(self) -> Way:
        """To the database, as it is said now."""
        if self.database_secret is not None:
            return Way.read(self.database_secret)
        return Way.said(self.database_url, self.listen_url)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it; names are not looked up, they may change."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_network(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True
