"""Tokens by HTTP: an admin makes, sees and ends those that reach no further than his own.

The database asks for the proof of his secret each time: with its own login alone a gateway cannot do any of this.
"""

import logging
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from paceline.tokens import NOTE_LIMIT, Holder, NewToken, Tokens, TokenSeen
from paceline_gateway.auth import Admin
from paceline_gateway.bodies import Body, Seconds, span
from paceline_gateway.door import bearer
from paceline_gateway.headers import header
from paceline_gateway.identity import Identity
from paceline_gateway.problem import Problem
from paceline_gateway.services import services_of

router = APIRouter(prefix="/v1/tokens", tags=["tokens"])
TokenId: TypeAlias = Annotated[str, Path(pattern="^[0-9a-z]{12}$", description="The middle of the token.")]
log = logging.getLogger("paceline.gateway")


class TokenBody(Body):
    """A token to be made."""

    kind: Literal["rk", "pk", "ak"] = Field(description="For a runner, a producer, an admin.")
    pool: str | None = Field(None, description="The only one that it is good for; the caller's own where he has one.")
    group: str | None = Field(None, description="Of a runner: its RunnerGroup, instead of a pool.")
    namespace: str = Field("default", description="Of the group.")
    install: str | None = Field(None, description="Of the group, where several operators share the database.")
    runner: str | None = Field(None, description="Of a runner: its name.")
    read_only: bool = Field(False, description="Of an admin: only for looking.")
    note: str = Field("", description="What it is for.", json_schema_extra={"maxLength": NOTE_LIMIT})
    expires_in_seconds: Seconds | None = Field(None, description="Worth nothing after so many seconds.")

    def token(self, caller: Identity) -> NewToken:
        """As the SDK knows it, which checks the rest."""
        return NewToken(
            kind=self.kind, pool=self.pool if self.group else caller.pool_or_all(self.pool), group=self.group,
            namespace=self.namespace if self.group else "", install=self.install, runner=self.runner,
            read_only=self.read_only, note=self.note, expires=span(self.expires_in_seconds),
        )  # fmt: skip


class Made(BaseModel):
    """A new token. This is the only time that it is shown."""

    token: str
    id: str = Field(description="Fit for lists and logs.")


class Listed(BaseModel):
    """Tokens without their secrets, the newest first."""

    tokens: list[TokenSeen]


class Revoked(BaseModel):
    """A token that is worth nothing."""

    id: str
    revoked: bool = Field(description="False: it had been before.")


@router.post("", status_code=201)
async def create(request: Request, body: TokenBody, caller: Admin) -> Made:
    """Make a token: none that does more than the caller's own, for more pools, or for longer."""
    caller.may_write()
    new = body.token(caller)
    token = await _tokens(request).make(new)
    number = token.split("_")[1]
    log.info(
        "token %s was made by token %s: %s_, pool %s, group %s, runner %s%s", number, caller.token, new.kind,
        new.pool or "*", f"{new.namespace}/{new.group}" if new.group else "-", new.runner or "-",
        ", read-only" if new.read_only else "",
    )  # fmt: skip
    return Made(token=token, id=number)


@router.get("")
async def list_tokens(request: Request, caller: Admin) -> Listed:  # noqa: ARG001 -- for admins alone
    """The tokens of the caller's pool, or all; their secrets are nowhere to be had."""
    return Listed(tokens=await _tokens(request).list())


@router.post("/{number}/revoke")
async def revoke(request: Request, number: TokenId, caller: Admin) -> Revoked:
    """Make a token worth nothing, at once and at every gateway; a runner that registered with it is fenced."""
    caller.may_write()
    first = await _tokens(request).revoke(number)
    if first:
        log.info("token %s was revoked by token %s", number, caller.token)
    return Revoked(id=number, revoked=first)


def _tokens(request: Request) -> Tokens:
    token = bearer(header(request.scope, b"authorization"))
    if not token:
        raise Problem(403, "not_allowed", "tokens are managed with one: send an ak_ token, also where none is needed")
    return Tokens(services_of(request).database, Holder.of(token))
