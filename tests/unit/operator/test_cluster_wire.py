"""How time passes for one request: an injected clock instead of a network."""

import asyncio
import socket
from typing import Any

import aiohttp
import pytest

from paceline_operator.adapters.access import Kubeconfig
from paceline_operator.adapters.requests import Target, creating, deleting, getting
from paceline_operator.adapters.retry import Retries
from paceline_operator.adapters.wire import Wire
from paceline_operator.ports.errors import UnreachableError
from paceline_operator.ports.resources import POD, ResourceKind

PODS = Target(POD, "ci", "p")


class Line:
    """A request layer on which every attempt takes `seconds` and then fails."""

    def __init__(self, seconds: float, error: BaseException) -> None:
        self.now = 0.0
        self.limits: list[float] = []
        self.waits: list[float] = []
        self._seconds = seconds
        self._error = error

    @property
    def rest_client(self) -> "Line":
        return self

    async def request(self, *_: Any, _request_timeout: aiohttp.ClientTimeout, **__: Any) -> None:
        assert _request_timeout.total is not None
        self.limits.append(round(_request_timeout.total, 3))
        if self._seconds >= _request_timeout.total:
            self.now += _request_timeout.total
            raise TimeoutError
        self.now += self._seconds
        raise self._error

    async def sleep(self, seconds: float) -> None:
        self.waits.append(round(seconds, 3))
        self.now += seconds


def strung(line: Line, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Wire:
    made = Wire(Kubeconfig("none"), clock=lambda: line.now, chance=lambda: 1.0, **options)
    made._client = line
    monkeypatch.setattr("paceline_operator.adapters.wire.asyncio.sleep", line.sleep)
    return made


def refused() -> aiohttp.ClientConnectorError:
    key: Any = type("Key", (), {"host": "h", "port": 1, "ssl": True})()
    return aiohttp.ClientConnectorError(key, OSError(111, "refused"))


async def test_attempts_are_spaced_and_end_within_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(0.0, aiohttp.ServerDisconnectedError())
    with pytest.raises(UnreachableError, match="get pods ci/p failed 9 times: the connection broke"):
        await strung(line, monkeypatch).send(getting(PODS))
    assert line.waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.0, 3.0, 3.0]
    assert line.now <= 15


async def test_the_last_attempt_gets_what_is_left_and_never_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(60.0, OSError())
    with pytest.raises(UnreachableError, match="no answer after"):
        await strung(line, monkeypatch).send(getting(PODS))
    assert line.limits == [10.0, 4.9]
    line = Line(60.0, OSError())
    with pytest.raises(UnreachableError):
        await strung(line, monkeypatch, retries=Retries(total=0.0)).send(getting(PODS))
    assert line.limits == [0.1], "0 would be no limit at all"


async def test_a_create_is_repeated_only_if_no_connection_came_about(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ci"}}
    line = Line(0.0, refused())
    with pytest.raises(UnreachableError, match=r"failed 9 times: cannot connect.*refused"):
        await strung(line, monkeypatch).send(creating(pod))
    for error in (aiohttp.ServerDisconnectedError(), ConnectionResetError(), TimeoutError()):
        line = Line(0.0, error)
        with pytest.raises(UnreachableError, match=r"create pods ci/p failed: .*not known whether it was carried out"):
            await strung(line, monkeypatch).send(creating(pod))
        assert line.waits == []


async def test_who_is_cancelled_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(0.0, asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await strung(line, monkeypatch).send(deleting(PODS, "u", "Background", None))
    assert len(line.limits) == 1


async def test_every_attempt_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str, int, float]] = []

    def note(verb: str, resource: ResourceKind, status: int, seconds: float) -> None:
        seen.append((verb, str(resource), status, round(seconds, 3)))

    line = Line(0.25, socket.gaierror())
    with pytest.raises(UnreachableError):
        await strung(line, monkeypatch, on_request=note, retries=Retries(total=0.5)).send(getting(PODS))
    assert seen == [("get", "pods", 0, 0.25), ("get", "pods", 0, 0.15)]
