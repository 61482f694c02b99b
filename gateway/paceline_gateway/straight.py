"""For the route that is asked thousands of times a second: described by FastAPI, served without it.

FastAPI looks through its routers, solves dependencies and opens exit stacks anew for each request, which takes longer
than all that is done for a job here. Such a route has a signature that FastAPI describes; what it is called with is
found here, and what is wrong with that is said in the same words.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from paceline.errors import PacelineError
from paceline_gateway.auth import caller_of
from paceline_gateway.bodies import OneOrMany
from paceline_gateway.headers import header
from paceline_gateway.identity import TokenKind
from paceline_gateway.problem import Problem, invalid, problem_of

BODY: Final[TypeAdapter[Any]] = TypeAdapter(OneOrMany)


class Straight(APIRoute):
    """A route of producers: `(request, body, caller, once)`."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find what the endpoint wants, and send what it answers."""
        if scope["method"] not in (self.methods or ()):
            return await super().handle(scope, receive, send)  # which says which methods there are
        try:
            caller = caller_of(scope, TokenKind.PRODUCER, TokenKind.ADMIN)
            body = body_of(scope, (await receive()).get("body", b""))
            answer = await self.endpoint(Request(scope), body, caller, header(scope, b"idempotency-key"))
        except RequestValidationError as error:
            answer = invalid(error).answer()
        except PacelineError as error:
            answer = problem_of(error).answer()
        except Problem as problem:
            answer = problem.answer()
        await answer(scope, receive, send)
        return None


class Shortcut:
    """Stands before all that FastAPI does for a request, and finds the routes that go without it."""

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        """`app` is for all other requests."""
        self._app = app
        self._straight = {
            (method, each.path): each for each in routes if isinstance(each, Straight) for method in each.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve it, or pass it on."""
        route = self._straight.get((scope.get("method", ""), scope.get("path", "")))
        if route is None:
            return await self._app(scope, receive, send)
        scope["route"] = route
        return await route.handle(scope, receive, send)


def body_of(scope: Scope, sent: Any) -> Any:
    """What was sent, as its model; an error names the field."""
    if not sent:
        raise RequestValidationError([{"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}])
    if is_json(header(scope, b"content-type") or ""):
        sent = _parsed(sent)
    try:
        return BODY.validate_python(sent, from_attributes=True)  # as FastAPI does, whose words depend on it
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in found]) from None


def is_json(content_type: str) -> bool:
    """Whether a body may be read as JSON: not what another site's form can send."""
    kind, _, part = content_type.partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (part == "json" or part.endswith("+json"))


def _parsed(sent: bytes) -> Any:
    try:
        return json.loads(sent.decode())
    except json.JSONDecodeError as error:
        raise RequestValidationError(
            [{"type": "json_invalid", "loc": ("body", error.pos), "msg": "JSON decode error", "input": {}}]
        ) from None
    except (ValueError, RecursionError):  # no UTF-8, a number of thousands of digits; nested too deeply
        raise Problem(400, "bad_request", "the body cannot be read as JSON") from None
