"""Errors as `application/problem+json` (RFC 9457), with one word for programs in `error`."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.exceptions import HTTPException

from paceline import errors

KIND: Final = "application/problem+json"
RETRY_SECONDS: Final = 1
"""After so long it may be better: a pool has room again, the database is back."""

KNOWN: Final[Mapping[type[errors.PacelineError], tuple[int, str]]] = {
    errors.InvalidInputError: (422, "invalid"),
    errors.NotAllowedError: (403, "not_allowed"),
    errors.NotFoundError: (404, "not_found"),
    errors.PoolFullError: (429, "pool_full"),
    errors.TooManyLanesError: (409, "too_many_lanes"),
    errors.NameTakenError: (409, "name_taken"),
    errors.PoolConflictError: (409, "pool_conflict"),
    errors.NotEligibleError: (409, "not_eligible"),
    errors.RequestMismatchError: (422, "idempotency_mismatch"),
    errors.SchemaError: (503, "schema"),
    errors.DatabaseError: (503, "database"),
}
"""Status and word of each error of the SDK."""
log = logging.getLogger("paceline.gateway")


class ProblemBody(BaseModel):
    """As it is sent. There may be more: `fields`, `job`, `retry_after`, whatever helps with this error."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank", "title": "Unauthorized", "status": 401, "error": "unauthorized",
                    "detail": "there is no good token in the header Authorization: send Bearer and a token",
                }
            ]
        },
    )  # fmt: skip

    type: str = Field(description="Always `about:blank`: `error` says which one it is.")
    title: str = Field(description="The status in words.")
    status: int = Field(description="The status of the answer.")
    error: str = Field(description="One word for programs.")
    detail: str = Field(description="For people: what was found, and what to do.")


class Problem(Exception):  # noqa: N818 -- the RFC's word
    """An answer that is not what was asked for."""

    def __init__(self, status: int, error: str, detail: str, **more: JsonValue) -> None:
        """`error` is one word for programs, `detail` for people: what was found, and what to do."""
        detail = detail.encode(errors="replace").decode()  # what was sent may be quoted, and half a character in it
        super().__init__(detail)
        self.status, self.error, self.detail, self.more = status, error, detail, more
        self.headers: Mapping[str, str] = {}

    def answer(self) -> JSONResponse:
        """As it is sent."""
        body: dict[str, JsonValue] = {
            "type": "about:blank", "title": _title(self.status), "status": self.status,
            "error": self.error, "detail": self.detail,
        }  # fmt: skip
        headers = dict(self.headers)
        if self.status in (429, 503):
            headers["Retry-After"] = str(self.more.get("retry_after", RETRY_SECONDS))
        if self.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return JSONResponse({**body, **self.more}, self.status, headers, KIND)


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:  # 499 is nobody's standard
        return "Client Closed Request"


def problem_of(error: errors.PacelineError) -> Problem:
    """What the SDK found wrong. What the database says of itself is for its operator's log, not for callers."""
    for kind in type(error).__mro__:
        if kind in KNOWN:
            status, word = KNOWN[kind]
            if status == HTTPStatus.SERVICE_UNAVAILABLE:
                log.warning("the database cannot be used: %s", error)
                return Problem(status, word, "the database cannot be used now: try again")
            return Problem(status, word, str(error))
    return internal()


def internal() -> Problem:
    """A fault of ours."""
    return Problem(500, "internal", "this should not have happened; the gateway's log says more")


def invalid(error: RequestValidationError) -> Problem:
    """Which field, and what is wrong with it."""
    found = [
        {"field": ".".join(str(part) for part in each["loc"]), "message": each["msg"]}
        for each in error.errors()
    ]  # fmt: skip
    first = found[0]
    return Problem(422, "invalid", f"{first['field']}: {first['message']}", fields=found)  # type: ignore[arg-type]  # JSON


def install(app: FastAPI) -> None:
    """Let every error of the app leave in this form."""

    @app.exception_handler(Problem)
    async def told(_: Request, error: Problem) -> JSONResponse:
        return error.answer()

    @app.exception_handler(errors.PacelineError)
    async def found_by_the_sdk(_: Request, error: errors.PacelineError) -> JSONResponse:
        return problem_of(error).answer()

    @app.exception_handler(RequestValidationError)
    async def not_as_declared(_: Request, error: RequestValidationError) -> JSONResponse:
        return invalid(error).answer()

    @app.exception_handler(Exception)
    async def of_ours(_: Request, __: Exception) -> JSONResponse:
        return internal().answer()  # limits.py logs it

    @app.exception_handler(HTTPException)
    async def of_the_framework(_: Request, error: HTTPException) -> JSONResponse:
        problem = Problem(error.status_code, _title(error.status_code).lower().replace(" ", "_"), str(error.detail))
        problem.headers = error.headers or {}
        return problem.answer()
