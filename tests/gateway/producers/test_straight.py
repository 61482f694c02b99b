"""The route for jobs goes past FastAPI; nobody who calls it can tell, but by the time that it takes."""

from typing import Annotated

import pytest
from fastapi import Body, FastAPI, Request
from fastapi.responses import JSONResponse
from httpx import ASGITransport, AsyncClient

from gateway.conftest import Client, Site
from paceline.queue import Queue
from paceline_gateway import problem
from paceline_gateway.auth import ANYBODY
from paceline_gateway.bodies import OneOrMany
from paceline_gateway.straight import Straight

JSON = "application/json"
SENT: list[tuple[str | None, bytes]] = [
    *((JSON, body) for body in (
        b"", b"{", b"nul", b"null", b"7", b'"mail"', b"[]", b"[7]", b'{"jobs": []}', b'{"jobs": 7}', b'{"kind": 7}',
        b'{"kind": "mail", "colour": "red", "priority": "high"}', b'[{"kind": "mail"}, {"payload": 1}]',
        b'{"jobs": [{"kind": "mail", "tags": "gpu"}], "pool": 5}', b'{"kind": "mail"} and more',
    )),
    (None, b'{"kind": "mail"}'), ("text/plain", b'{"kind": "mail"}'), ("application/jsonp", b'{"kind": "mail"}'),
    ("application/x-www-form-urlencoded", b"kind=mail"),
    ("Application/JSON; charset=utf-8", b'{"kind": "mail"}'), ("application/shop+json", b'{"kind": "mail"}'),
]  # fmt: skip


async def told(
    request: Request, body: Annotated[OneOrMany, Body()], caller: object = None, once: object = None
) -> JSONResponse:
    """An endpoint that takes what the one for jobs takes."""
    return JSONResponse({"found": repr(body)}, 201)


def both() -> FastAPI:
    app = FastAPI()
    problem.install(app)
    app.router.add_api_route("/straight", told, methods=["POST"], route_class_override=Straight, response_model=None)

    @app.post("/framework", response_model=None)
    async def framework(request: Request, body: Annotated[OneOrMany, Body()]) -> JSONResponse:
        return await told(request, body)

    return app


@pytest.mark.parametrize(("content_type", "body"), SENT)
async def test_the_answer_is_the_frameworks_own(content_type: str | None, body: bytes) -> None:
    async def known(scope: dict[str, object], receive: object, send: object) -> None:
        scope["state"] = {"identity": ANYBODY}
        await app(scope, receive, send)  # type: ignore[arg-type]  # whatever httpx gives

    app = both()
    headers = {} if content_type is None else {"content-type": content_type}
    async with AsyncClient(transport=ASGITransport(known), base_url="http://here") as client:  # type: ignore[arg-type]
        straight, framework = [
            await client.post(path, content=body, headers=headers) for path in ("/straight", "/framework")
        ]
    assert straight.status_code in (201, 422)
    assert (straight.status_code, straight.json()) == (framework.status_code, framework.json())


async def test_a_method_that_there_is_not_is_told_which_there_are(producer: Client) -> None:
    answer = await producer.put("/v1/jobs", json={"kind": "mail"})
    assert (answer.status_code, answer.headers["content-type"]) == (405, "application/problem+json")
    assert "POST" in answer.headers["allow"]


async def test_a_runners_token_enqueues_nothing(site: Site, address: str, queue: Queue) -> None:
    runner = await site.client(address, await site.tokens.create("rk", pool="builds", runner="r1"))
    answer = await runner.post("/v1/jobs", json={"kind": "mail"})
    assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed")
    assert await queue.database.value("SELECT count(*) FROM paceline.job") == 0
