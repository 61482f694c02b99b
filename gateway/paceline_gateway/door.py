"""The door: who comes in is known before anything of the request is read but its head.

Probes, metrics, the description of the API and the files of the dashboard are for everybody. For the rest the caller's
token is found good here, so that nobody without one makes the gateway read a body, or learns which paths there are.

The dashboard's own page has it in a cookie, which scripts cannot read. It is looked at for the dashboard's routes
alone, and a write has to carry a header besides: a page from elsewhere cannot make a browser send that.
"""

from typing import Final
from urllib.parse import parse_qsl, unquote_to_bytes

from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from paceline.errors import PacelineError
from paceline.tokens import SHAPE
from paceline_gateway.headers import header
from paceline_gateway.problem import Problem, problem_of
from paceline_gateway.services import services_in

PUBLIC: Final = frozenset({"/health/live", "/health/ready", "/metrics", "/docs", "/openapi.json", "/"})
PUBLIC_FOLDERS: Final = ("/docs/", "/dashboard/static/")
DASHBOARD: Final = "/dashboard/api"
COOKIE: Final = "paceline_session"
MARK: Final = "x-paceline-dashboard"
READS: Final = frozenset({"GET", "HEAD"})
CREDENTIALS: Final = frozenset({"token", "access_token", "authorization", "api_key"})
"""Names in a query that somebody would give a token."""


class Door:
    """Lets in who is known."""

    def __init__(self, app: ASGIApp) -> None:
        """Stands before the app."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Put the caller's identity into the request's state, or answer why not."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        try:
            refuse_tokens_in_urls(scope)
            if not is_public(scope["path"]):
                gate = services_in(scope).gate
                if scope["type"] == "http":  # a socket is told by its close code, which browsers do not hide
                    caller = await gate.identify(credential(scope), address(scope))
                    scope.setdefault("state", {})["identity"] = caller
        except Problem as problem:
            return await problem.answer()(scope, receive, send)
        except PacelineError as error:
            return await problem_of(error).answer()(scope, receive, send)
        return await self._app(scope, receive, send)


def is_public(path: str) -> bool:
    """Whether anybody may see it."""
    return path in PUBLIC or path.startswith(PUBLIC_FOLDERS)


def bearer(given: str | None) -> str | None:
    """The token in the header Authorization, "" if there is something else, None if there is nothing."""
    if given is None:
        return None
    scheme, _, token = given.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def credential(scope: Scope) -> str | None:
    """The token of a request: in its header or, for the dashboard, in the cookie; None if there is none."""
    given = bearer(header(scope, b"authorization"))
    if given is not None or not scope["path"].startswith(f"{DASHBOARD}/"):
        return given
    if scope["method"] not in READS and header(scope, MARK.encode()) is None:
        raise Problem(403, "forged", f"a write by cookie needs the header {MARK}, which our own page sends")
    return cookie_parser(header(scope, b"cookie") or "").get(COOKIE)


def address(scope: Scope) -> str:
    """Where a connection comes from."""
    client = scope.get("client")
    return client[0] if client else ""


def refuse_tokens_in_urls(scope: Scope) -> None:
    """Logs keep URLs: whoever sends a token in one is told, also where it would be let in."""
    if names_a_token(scope):
        raise Problem(
            400, "token_in_url",
            "a token does not belong into a URL, where logs keep it: send it in the header Authorization, "
            "and revoke the one that was sent",
        )  # fmt: skip


def names_a_token(scope: Scope) -> bool:
    """Whether a credential is in the URL, under its name or by its shape."""
    query: bytes = scope.get("query_string", b"")
    if SHAPE.search(scope["path"]):
        return True
    if not query:
        return False
    text = query.decode("latin-1")
    names = {name.lower() for name, _ in parse_qsl(text, keep_blank_values=True)}
    return not names.isdisjoint(CREDENTIALS) or bool(SHAPE.search(unquote_to_bytes(text).decode("latin-1")))
