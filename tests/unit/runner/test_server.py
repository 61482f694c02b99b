"""The port's own patience: anybody who reaches it may send it anything."""

import http.client
import socketserver
import threading
from collections.abc import Iterator

import pytest

from paceline.testing.scratch import free_ports
from paceline_runner.metrics import Metrics
from paceline_runner.server import MOST_BODY, Server
from paceline_runner.status import Status


@pytest.fixture
def port() -> Iterator[int]:
    (number,) = free_ports(1)
    serve = Server(Status("r1", lambda: 0), Metrics("builds"), lambda: None, lambda: None).start("127.0.0.1", number)
    assert serve is not None
    server = serve.__self__  # type: ignore[attr-defined]  # it is bound
    assert isinstance(server, socketserver.TCPServer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield number
    server.shutdown()
    thread.join()
    server.server_close()


def post(port: int, length: str, body: bytes = b"") -> tuple[int, str | None]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=40)
    try:
        connection.putrequest("POST", "/drain")
        connection.putheader("Content-Length", length)
        connection.endheaders(body)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers["Connection"]
    finally:
        connection.close()


@pytest.mark.parametrize("length", [str(MOST_BODY + 1), "9" * 5000])
def test_a_body_that_is_too_large_is_not_awaited(port: int, length: str) -> None:
    assert post(port, length) == (413, "close")


@pytest.mark.parametrize("length", ["-1", "x", "1_0", "+1", "²"])
def test_a_length_that_is_none_is_told(port: int, length: str) -> None:
    assert post(port, length) == (400, "close")


def test_a_body_of_just_the_size_is_read(port: int) -> None:
    assert post(port, str(MOST_BODY), b"x" * MOST_BODY) == (200, None)
