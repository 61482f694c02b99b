"""Requests to a gateway, and whoever answers in its place."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from paceline.errors import GatewayError, NameTakenError, PacelineError
from paceline_runner.gateway.api import Api, NotAuthorizedError
from paceline_runner.gateway.way import GatewayWay
from paceline_runner.settings import Gateway, Settings
from support.listening import listening

TOKEN = "rk_0123456789ab_" + "x" * 43


class Answering:
    """A server that always says the same, and what it was asked."""

    def __init__(self) -> None:
        self.answer, self.url, self.asked = "", "", ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked += (await reader.readuntil(b"\r\n\r\n")).decode()
        writer.write(self.answer.encode())
        await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def answering(status: str, body: str, *headers: str) -> AsyncIterator[Answering]:
    made = Answering()
    lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers)
    made.answer = "\r\n".join(lines) + f"\r\n\r\n{body}"
    async with listening(made.serve) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made


async def _error(url: str) -> PacelineError:
    api = Api(Gateway(url=url, token=TOKEN))
    try:
        with pytest.raises(PacelineError) as caught:
            await api.call("GET", "/runner/me")
    finally:
        await api.close()
    assert "xxx" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        ("401 Unauthorized", '{"error": "unauthorized", "detail": "no"}', NotAuthorizedError),
        ("409 Conflict", '{"error": "name_taken", "detail": "it is another\'s"}', NameTakenError),
        ("503 Service Unavailable", '{"error": "database", "detail": "away"}', GatewayError),
        ("429 Too Many Requests", '{"error": "too_many", "detail": "slower"}', GatewayError),
        ("403 Forbidden", "<h1>the proxy says no</h1>", GatewayError),
        ("200 OK", "<h1>please log in to the hotel</h1>", GatewayError),
        ("200 OK", "[]", GatewayError),
    ],
)
async def test_a_refusal_of_the_gateway_is_final_and_anything_else_may_pass(
    status: str, body: str, kind: type[PacelineError]
) -> None:
    async with answering(status, body) as there:
        error = await _error(there.url)
        assert type(error) is kind
        assert f"Authorization: Bearer {TOKEN}" in there.asked
        assert TOKEN not in there.asked.splitlines()[0]


async def test_the_token_goes_nowhere_else() -> None:
    async with (
        answering("200 OK", "{}") as thief,
        answering("307 Temporary Redirect", "", f"Location: {thief.url}/") as there,
    ):
        assert "answers 307" in str(await _error(there.url))
        assert thief.asked == ""


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with answering("502 Bad Gateway", "") as between:
        for name in ("no_proxy", "NO_PROXY", "http_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", between.url)
        assert "answers 502" in str(await _error("http://gateway.invalid"))
        assert between.asked.startswith("GET http://gateway.invalid/runner/me ")


def test_a_token_is_not_shown_by_accident() -> None:
    assert "xxx" not in repr(Gateway(url="https://gateway", token=TOKEN))


@pytest.mark.parametrize(
    ("told", "least", "most"),
    [("7", 7, 10.5), ("86400", 60, 90), ("Wed, 21 Oct 2026 07:28:00 GMT", 0, 0.2), ("-1", 0, 0.2)],
)
async def test_whoever_is_told_when_to_come_back_does_not_come_before(told: str, least: float, most: float) -> None:
    async with answering("503 Service Unavailable", '{"error": "busy"}', f"Retry-After: {told}") as there:
        gateway = Gateway(url=there.url, token=TOKEN)
        way = GatewayWay(Settings(gateway=gateway, name=""), gateway, asyncio.get_running_loop())
        with pytest.raises(GatewayError):
            await way.connect()
        assert least <= next(way.pauses()) <= most
        await way.close()
