"""Some routes go past FastAPI; nobody who calls them can tell, but by the time that it takes."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from paceline_gateway import jobs, problem
from paceline_gateway.identity import Identity, TokenKind
from paceline_gateway.runners import poll
from paceline_gateway.runners.runs import Beat, Welcome
from paceline_gateway.straight import Shortcut, Straight

PRODUCER = Identity(token="p", kind=TokenKind.PRODUCER)
RUNNER = Identity(token="r", kind=TokenKind.RUNNER, pool="builds", runner="r1")
JSON = "application/json"
JOB = b'{"kind": "mail"}'
REPORT = b'{"incarnation": 1, "fence": 2, "error": "no", "value": [7], "seconds": 1, "text": "x"}'
BODIES: list[tuple[str | None, bytes]] = [
    *((JSON, body) for body in (
        JOB, REPORT, b"", b"{", b"nul", b"null", b"7", b'"mail"', b"[]", b"[7]", b"{}", b'{"jobs": []}', b'{"jobs": 7}',
        b'{"kind": 7}', b'{"kind": "mail", "colour": "red", "priority": "high"}', b'[{"kind": "mail"}, {"payload": 1}]',
        b'{"jobs": [{"kind": "mail", "tags": "gpu"}], "pool": 5}', b'{"kind": "mail"} and more',
        b'{"kinds": ["*"], "slots": 3}', b'{"kinds": []}',
        b'{"kinds": ["*"], "slots": 0, "heartbeat_seconds": "often"}',
        b'{"incarnation": 1}', b'{"incarnation": "1", "fence": "2"}', b'{"incarnation": -1, "fence": 1.5}',
        b'{"incarnation": 1, "runs": [[1, 2], [3, 4]]}', b'{"incarnation": 1, "runs": [[1]]}',
        b'{"incarnation": 9223372036854775808, "fence": 9223372036854775808}',
        b'{"incarnation": 1, "fence": 2, "seconds": 0}',
        b'{"incarnation": 1, "fence": 2, "error": "no", "cause": "Whim", "retry_in_seconds": NaN}',
        b'{"incarnation": 1, "fence": 2, "result": {"deep": [1, 2.5, null, "\\ud800", 1e400]}}',
        b'{"incarnation": 1, "fence": 2, "result": ' + b"9" * 5_000 + b"}",
        b'{"incarnation": 1, "fence": 2, "result": ' + b"[" * 100_000,
        b"\xff", "\ufeff{}".encode(), REPORT.decode().encode("utf-16"),
    )),
    *((other, body) for body in (JOB, REPORT) for other in (
        None, "", "text/plain", "application/jsonp", "application/x-www-form-urlencoded", "json",
        "Application/JSON; charset=utf-8", "application/shop+json",
    )),
]  # fmt: skip
QUERIES = (
    "incarnation=1", "incarnation=1&want=0&wait=0", "incarnation=%31&wait=1e1", "incarnation=1&incarnation=2", "",
    "incarnation=", "incarnation=x&want=-1&wait=31", "incarnation=1&want=10001", "incarnation=1&wait=nan",
    "incarnation=1&colour=red", "incarnation=9223372036854775808", "incarnation=1.0", "incarnation=1_0",
    "incarnation=+1", "Incarnation=1", "incarnation=1&want=",
)  # fmt: skip
NUMBERS = ("7", "%37", "x", "-1", "7.0", "9223372036854775808", "", "7/8")
SAID: tuple[BaseModel, ...] = (
    poll.Accepted(), poll.Left(runs=2), poll.Me(runner='a "b" ü', pool="builds", namespace="", group=None),
    Beat(verdict="ok", cancelled=[1], refused=[], leave=False, cause=None, lease_seconds=30.0),
    Welcome(
        incarnation=1, runner="r1", pool="builds", state="active", heartbeat_seconds=10, lease_seconds=30.5,
        confirm_seconds=30,
    ),
)  # fmt: skip


def straight_routes() -> list[Straight]:
    app = FastAPI()
    jobs.install(app)
    return [route for route in (*app.routes, *poll.router.routes) if isinstance(route, Straight)]


ROUTES = straight_routes()


def stand_in(route: Straight) -> Callable[..., Awaitable[PlainTextResponse]]:
    """Takes what the endpoint takes, and says what that was."""

    async def told(**values: Any) -> PlainTextResponse:
        values.pop("request", None)
        return PlainTextResponse(repr(sorted(values.items())))

    told.__signature__ = inspect.signature(route.endpoint)  # type: ignore[attr-defined]  # FastAPI asks for it
    return told


class Both:
    """The same routes behind the shortcut, and without it."""

    def __init__(self) -> None:
        self.app = FastAPI()
        problem.install(self.app)
        self.long_way = False
        self.caller = RUNNER

    def add(
        self, path: str, endpoint: Callable[..., Any], method: str, model: Any = None, status: int | None = None
    ) -> None:  # fmt: skip
        self.app.router.add_api_route(
            path, endpoint, methods=[method], response_model=model, status_code=status, route_class_override=Straight
        )

    async def ask(self, method: str, path: str, **sent: Any) -> httpx.Response:
        """The answer, which is the same by both ways."""

        async def noted(scope: Scope, receive: Receive, send: Send) -> None:
            self.long_way = True
            await self.app(scope, receive, send)

        self.long_way = False
        answer = await self._ask(Shortcut(noted, self.app.routes), method, path, **sent)
        framework = await self._ask(self.app, method, path, **sent)
        assert answer.status_code == framework.status_code
        assert answer.headers == framework.headers
        assert answer.content == framework.content
        return answer

    async def _ask(self, app: ASGIApp, method: str, path: str, **sent: Any) -> httpx.Response:
        async def known(scope: Any, receive: Any, send: Any) -> None:
            scope["state"], scope["app"] = {"identity": self.caller}, self.app
            await app(scope, receive, send)

        async with httpx.AsyncClient(transport=httpx.ASGITransport(known), base_url="http://here") as client:
            return await client.request(method, path, **sent)


@pytest.fixture
def both() -> Both:
    made = Both()
    for route in ROUTES:
        method = next(iter(route.methods or ()))
        made.add(route.path, stand_in(route), method, status=route.status_code)
    return made


@pytest.mark.parametrize("path", [route.path for route in ROUTES if route.body_field])
async def test_a_body_is_read_and_refused_as_the_framework_does_it(path: str, both: Both) -> None:
    good = 0
    for both.caller in (PRODUCER, RUNNER):
        for content_type, body in BODIES:
            headers = {} if content_type is None else {"content-type": content_type}
            answer = await both.ask("POST", path.replace("{job}", "7"), content=body, headers=headers)
            assert answer.status_code in (200, 201, 400, 403, 422)
            if answer.is_success:
                good += 1
                assert not both.long_way
    assert good


async def test_a_query_is_read_and_refused_as_the_framework_does_it(both: Both) -> None:
    answers = [await both.ask("GET", f"/runner/runs?{query}") for query in QUERIES]
    assert {answer.status_code for answer in answers} == {200, 422}
    assert "('want', 0)" in answers[1].text
    await both.ask("GET", "/runner/runs?incarnation=1")
    assert not both.long_way


async def test_a_path_is_read_and_refused_as_the_framework_does_it(both: Both) -> None:
    headers = {"content-type": JSON}
    for what in ("complete", "fail", "sing"):
        for number in NUMBERS:
            await both.ask("POST", f"/runner/runs/{number}/{what}", content=REPORT, headers=headers)
    answer = await both.ask("POST", "/runner/runs/x/complete", content=b'{"incarnation": -1}', headers=headers)
    assert [each["field"] for each in answer.json()["fields"]] == ["path.job", "body.incarnation", "body.fence"]


@pytest.mark.parametrize("key", [None, "", "order-7"])
async def test_a_header_is_read_as_the_framework_does_it(key: str | None, both: Both) -> None:
    both.caller = PRODUCER
    headers = {"content-type": JSON, **({} if key is None else {"Idempotency-Key": key})}
    answer = await both.ask("POST", "/v1/jobs", content=JOB, headers=headers)
    assert f"('once', {key!r})" in answer.text
    assert not both.long_way


@pytest.mark.parametrize("method", ["PUT", "DELETE", "HEAD", "OPTIONS"])
async def test_a_method_that_there_is_not_is_refused_as_the_framework_does_it(method: str, both: Both) -> None:
    for path in ("/v1/jobs", "/runner/runs", "/runner/runs/7/complete", "/runner/runs/"):
        await both.ask(method, path)


@pytest.mark.parametrize("said", SAID, ids=lambda said: type(said).__name__)
async def test_a_model_is_sent_as_the_framework_does_it(said: BaseModel, both: Both) -> None:
    async def endpoint(request: Request) -> BaseModel:
        return said

    both.add("/said", endpoint, "GET", type(said))
    answer = await both.ask("GET", "/said")
    assert type(said).model_validate(answer.json()) == said
    assert not both.long_way
