"""Signing in: an `ak_` token in a header becomes a cookie that scripts cannot read. The gateway keeps nothing of it.

The cookie holds the token itself, so whatever ends the token (a revocation, its expiry) ends the session, at every
gateway.
"""

from typing import Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from paceline_gateway.auth import Admin
from paceline_gateway.door import COOKIE, DASHBOARD, bearer
from paceline_gateway.problem import Problem

SESSION_SECONDS: Final = 12 * 3600
"""A working day: then the token is asked for again."""
router = APIRouter(prefix=f"{DASHBOARD}/session", include_in_schema=False)


class Who(BaseModel):
    """Who looks, and what the page may offer."""

    token: str
    """The token's id; empty where none is asked for."""
    pool: str | None
    read_only: bool


@router.get("")
async def who(caller: Admin) -> Who:
    """Who is signed in."""
    return Who(token=caller.token, pool=caller.pool, read_only=caller.read_only)


@router.post("", status_code=204)
async def sign_in(request: Request, _: Admin) -> Response:
    """Turn the token of the header Authorization into a cookie."""
    token = bearer(request.headers.get("authorization"))
    if not token:
        raise Problem(422, "invalid", "send the ak_ token in the header Authorization: Bearer")
    answer = Response(status_code=204)
    answer.set_cookie(
        COOKIE, token, max_age=SESSION_SECONDS, path=DASHBOARD, secure=_is_https(request), httponly=True,
        samesite="strict",
    )  # fmt: skip
    return answer


@router.delete("", status_code=204)
async def sign_out(request: Request, _: Admin) -> Response:
    """Take the cookie away; the token stays good."""
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, path=DASHBOARD, secure=_is_https(request), httponly=True, samesite="strict")
    return answer


def _is_https(request: Request) -> bool:
    """Whether the browser speaks TLS, to us or to a proxy that we trust."""
    return request.url.scheme == "https"
