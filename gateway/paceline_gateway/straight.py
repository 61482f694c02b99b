"""For routes that are asked hundreds or thousands of times a second: described by FastAPI, served without it.

FastAPI looks through its routers, solves dependencies and opens exit stacks anew for each request, which takes longer
than all that is done for a job here. Its own fields read the same arguments in a tenth of that time. Whatever is not as
a route declares it goes the long way, so that FastAPI says in its own words what is wrong.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from paceline.errors import PacelineError
from paceline_gateway.headers import header
from paceline_gateway.problem import Problem, problem_of

JSON: Final = "application/json"


class UnfitError(Exception):
    """A request is not as its route declares it."""


class Straight(APIRoute):
    """It takes a request, a caller (`auth.allow`), a model as its body, and values from path, query and headers."""

    async def answer(self, request: Request, body: bytes) -> Response | None:
        """What the endpoint answers; None: FastAPI is to say what is wrong with the request."""
        wants = self.dependant
        try:
            values = self._values(request.scope, body)
        except UnfitError:
            return None
        if wants.request_param_name:
            values[wants.request_param_name] = request
        try:
            for each in wants.dependencies:
                assert each.name is not None
                assert each.call is not None
                values[each.name] = await each.call(request, None)
            found = await self.endpoint(**values)
        except PacelineError as error:
            return problem_of(error).answer()
        except Problem as problem:
            return problem.answer()
        if isinstance(found, Response):
            return found
        return Response(found.model_dump_json(), self.status_code or 200, media_type=JSON)

    def _values(self, scope: Scope, body: bytes) -> dict[str, Any]:
        wants, values = self.dependant, dict[str, Any]()
        if wants.path_params:
            _read(wants.path_params, scope["path_params"], values)
        if wants.query_params:
            query = scope["query_string"].decode("latin-1")
            _read(wants.query_params, dict(parse_qsl(query, keep_blank_values=True)), values)
        for field in wants.header_params:
            _read([field], {field.alias: header(scope, field.alias.lower().encode())}, values)
        for field in wants.body_params:
            values[field.name] = _valid(field, _parsed(scope, body))
        return values


class Shortcut:
    """Stands before all that FastAPI does for a request, and finds the routes that go without it."""

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        """`app` is for all other requests."""
        self._app = app
        self._plain: dict[tuple[str, str], Straight] = {}
        self._patterns: defaultdict[str, list[Straight]] = defaultdict(list)
        for each in routes:
            if not isinstance(each, Straight):
                continue
            for method in each.methods or ():
                if each.param_convertors:
                    self._patterns[method].append(each)
                else:
                    self._plain[method, each.path] = each

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve it, or pass it on."""
        route = self._find(scope) if scope["type"] == "http" else None
        if route is None:
            return await self._app(scope, receive, send)
        first = await receive() if route.body_field else None
        answer = await route.answer(Request(scope, receive), first.get("body", b"") if first else b"")
        if answer is None:
            return await self._app(scope, _again(first, receive), send)
        return await answer(scope, receive, send)

    def _find(self, scope: Scope) -> Straight | None:
        method, path = scope["method"], scope["path"]
        route = self._plain.get((method, path))
        if route is None:
            for each in self._patterns.get(method, ()):
                if found := each.path_regex.match(path):
                    route, scope["path_params"] = each, found.groupdict()
                    break
        if route is not None:
            scope["route"] = route
        return route


def _again(first: Message | None, receive: Receive) -> Receive:
    """What was read comes once more."""
    waiting = [first] if first else []

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _read(fields: Iterable[Any], given: Mapping[str, str | None], values: dict[str, Any]) -> None:
    for field in fields:
        value = given.get(field.alias)
        if value is not None:
            values[field.name] = _valid(field, value)
        elif field.field_info.is_required():
            raise UnfitError
        else:
            values[field.name] = field.field_info.default  # nothing that could be changed: it needs no copy


def _valid(field: Any, value: Any) -> Any:
    found, errors = field.validate(value)
    if errors:
        raise UnfitError
    return found


def _parsed(scope: Scope, body: bytes) -> Any:
    if not body or not is_json(header(scope, b"content-type") or ""):
        raise UnfitError
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits; nested too deeply
        raise UnfitError from None


def is_json(content_type: str) -> bool:
    """Whether a body may be read as JSON: not what another site's form can send."""
    kind, _, part = content_type.partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (part == "json" or part.endswith("+json"))
