"""The port: probes, metrics, and the order to drain. Threads of its own, so that no handler holds it up.

The standard library's server: a few requests a minute need no more, and it costs a fraction of the memory and of the
time to start.
"""

import json
import logging
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from paceline_runner.metrics import Metrics
from paceline_runner.signals import leave_to_main
from paceline_runner.status import Status

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"
SILENCE: Final = 30.0
"""Seconds that a client may take to say what it wants."""
MOST_BODY: Final = 2**16
"""Bytes of a body. No request needs one, and anybody who reaches the port may send it."""
log = logging.getLogger("paceline.runner")

Answer = tuple[int, str, bytes]


class Server:
    """Serves one runner."""

    def __init__(
        self, status: Status, metrics: Metrics, drain: Callable[[], None], last_beat: Callable[[], float | None]
    ) -> None:
        """`drain` may be called from any thread."""
        self._status, self._metrics, self._drain, self._last_beat = status, metrics, drain, last_beat

    def start(self, host: str, port: int) -> Callable[[], None] | None:
        """Listen; what serves, for a thread. A runner without its port still works, and its probes will tell."""
        answer = self.answer

        class Handler(BaseHTTPRequestHandler):
            """One connection."""

            protocol_version = "HTTP/1.1"
            timeout = SILENCE

            def do_GET(self) -> None:
                self._send(answer("GET", self.path))

            def do_POST(self) -> None:
                length = body_length(self.headers.get("Content-Length"))
                if length is None:
                    self._refuse(400, b"Content-Length is no number of bytes\n")
                elif length > MOST_BODY:
                    self._refuse(413, f"a body has at most {MOST_BODY} bytes\n".encode())
                else:
                    self.rfile.read(length)
                    self._send(answer("POST", self.path))

            def _refuse(self, status: int, why: bytes) -> None:
                self.close_connection = True  # what would come next is the body
                self._send((status, TEXT, why))

            def _send(self, found: Answer) -> None:
                status, kind, body = found
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                if self.close_connection:
                    self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the library's name
                log.debug(format, *args)

        class Threads(ThreadingHTTPServer):
            """A thread for each connection, none of which keeps the process."""

            daemon_threads = True
            request_queue_size = 64
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

            def server_bind(self) -> None:
                """Without the library's look at DNS, which may take seconds."""
                TCPServer.server_bind(self)
                self.server_name, self.server_port = host, self.server_address[1]

            def serve_forever(self, poll_interval: float = 0.5) -> None:
                """In its own thread, and those of its connections."""
                leave_to_main()
                super().serve_forever(poll_interval)

            def handle_error(self, *_: object) -> None:
                log.debug("a client of the port went away", exc_info=True)

        try:
            server = Threads((host, port), Handler)
        except OSError as error:
            log.error(  # noqa: TRY400 -- a traceback would not help
                "cannot listen on %s:%d: %s (choose another with --listen)", host, port, error.strerror or error
            )
            return None
        log.info("listening on %s:%d", host, server.server_address[1])
        return server.serve_forever

    def answer(self, method: str, target: str) -> Answer:
        """What a request gets."""
        parts = urlsplit(target)
        match method, parts.path:
            case "GET", "/health/live":
                return 200, TEXT, b"ok\n"
            case "GET", "/health/ready":
                state = self._status.state
                return (200, TEXT, b"ok\n") if state == "active" else (503, TEXT, f"{state}\n".encode())
            case "GET", "/metrics":
                return 200, "text/plain; version=0.0.4; charset=utf-8", self._metrics.text()
            case "POST", "/drain":
                return self._drain_here(parts.query)
            case "GET", "/cluster/nodes":
                return 200, JSON, json.dumps([self._node()]).encode()
            case "POST", path if path.startswith("/cluster/nodes/") and path.endswith("/drain"):
                return self._drain_node(unquote(path.removeprefix("/cluster/nodes/").removesuffix("/drain")))
        return 404, TEXT, f"there is nothing at {method} {parts.path}\n".encode()

    def _drain_here(self, query: str) -> Answer:
        """With `?wait=true` the answer comes when nothing runs any more."""
        self._drain()
        if parse_qs(query).get("wait") in (["1"], ["true"]):
            self._status.wait_idle()
        return 200, JSON, json.dumps({"state": "draining", "running": self._status.holding()}).encode()

    def _node(self) -> dict[str, object]:
        beat = self._last_beat()
        return {
            "id": self._status.name,
            "hostname": self._status.hostname,
            "started_at": self._status.started_at.isoformat(),
            "last_heartbeat": None if beat is None else datetime.fromtimestamp(beat, UTC).isoformat(),
            "state": self._status.state,
            "instances_claimed": self._status.holding(),
        }

    def _drain_node(self, name: str) -> Answer:
        if name != self._status.name:
            return 404, TEXT, f'this is runner "{self._status.name}": ask "{name}" itself, or the gateway\n'.encode()
        self._drain()
        return 200, TEXT, b""


def body_length(given: str | None) -> int | None:
    """How long a body is that says so; None if that is no length, like -1, which would be read without end."""
    if given is None:
        return 0
    # no length has 20 digits, and Python reads no number of thousands of them
    return int(given[:20]) if given.isascii() and given.isdecimal() else None
