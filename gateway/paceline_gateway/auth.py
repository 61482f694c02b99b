"""Who calls: a bearer token in a header, found good, and what a route asks of whoever holds it."""

import asyncio
import contextlib
import hmac
import logging
import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.types import Scope

from paceline.errors import PacelineError
from paceline.tokens import SHAPE, Token, Tokens, hash_of
from paceline_gateway.identity import Identity, TokenKind
from paceline_gateway.known import KnownTokens
from paceline_gateway.lockout import Lockout
from paceline_gateway.problem import Problem

if TYPE_CHECKING:
    from paceline.database import Database

SCHEME: Final = HTTPBearer(auto_error=False, description="A token of `paceline token create`: rk_, pk_ or ak_.")
ANYBODY: Final = Identity(token="", kind=TokenKind.ADMIN)
"""Who comes without a token where none is asked for."""
NO_HASH: Final = bytes(32)
"""Of no secret; a token that is not there is compared with it, to take the same time."""
USED_SECONDS: Final = 30.0
MOST_FAMILIAR: Final = 10_000
log = logging.getLogger("paceline.gateway")


class Gate:
    """Says who a token stands for."""

    def __init__(self, database: "Database", known: KnownTokens, *, required: bool = True) -> None:
        """Tokens are in the database; without `required` nobody needs one."""
        self._tokens, self._known, self._required = Tokens(database), known, required
        self._lockout = Lockout()
        self._familiar: OrderedDict[str, bytes] = OrderedDict()
        self._used: set[str] = set()

    async def identify(self, given: str | None, address: str | None = None) -> Identity:
        """The caller behind a token; 401 whatever is wrong with it, 429 after too many bad ones from that address."""
        if given is None:
            if self._required:
                raise refused()
            return ANYBODY
        shape = SHAPE.fullmatch(given)
        kind, number, secret = shape.groups() if shape else ("", "", "")
        hashed = hash_of(secret)
        self._let_try(address, number, hashed)
        token = await self._find(number) if shape else None
        self._let_try(address, number, hashed)  # guesses sent at once get no more than those ten answers
        good = hmac.compare_digest(hashed, token.hash if token else NO_HASH)
        if token is None or not good or token.kind != kind or not token.valid:
            self._familiar.pop(number, None)
            if address is not None:
                self._lockout.failed(address)
            raise refused()
        self._remember(number, hashed)
        return identity_of(token)

    def _let_try(self, address: str | None, number: str, hashed: bytes) -> None:
        if address is not None and (wait := self._lockout.wait(address)) and not self._is_familiar(number, hashed):
            raise locked_out(wait)

    async def _find(self, number: str) -> Token | None:
        if token := self._known.get(number):
            return token
        asked_at = self._known.changes
        if token := await self._tokens.find(number):
            self._known.keep(token, asked_at)
        return token

    def _is_familiar(self, number: str, hashed: bytes) -> bool:
        """Whether it was good the last time: a neighbour's bad tokens, behind one proxy, do not lock it out."""
        return hmac.compare_digest(hashed, self._familiar.get(number, NO_HASH))

    def _remember(self, number: str, hashed: bytes) -> None:
        self._used.add(number)
        self._familiar[number] = hashed
        self._familiar.move_to_end(number)
        if len(self._familiar) > MOST_FAMILIAR:
            self._familiar.popitem(last=False)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hear of revoked tokens, and note now and then which ones are used, while the block runs."""
        noting = asyncio.create_task(self._note_use())
        try:
            async with self._known.running():
                yield
        finally:
            noting.cancel()
            await asyncio.gather(noting, return_exceptions=True)
            await self._note()

    async def _note_use(self) -> None:
        while True:
            await asyncio.sleep(USED_SECONDS)
            await self._note()

    async def _note(self) -> None:
        used, self._used = self._used, set()
        if not used:
            return
        try:
            async with asyncio.timeout(USED_SECONDS):
                await self._tokens.note_used(sorted(used))
        except (PacelineError, TimeoutError) as error:
            log.debug("cannot note which tokens are used: %s", error)


def refused() -> Problem:
    """The same for every reason: who guesses learns nothing."""
    return Problem(401, "unauthorized", "there is no good token in the header Authorization: send Bearer and a token")


def locked_out(seconds: float) -> Problem:
    """Come back later."""
    return Problem(
        429, "locked_out", "too many bad tokens came from this address: wait, and correct the token",
        retry_after=math.ceil(seconds),
    )  # fmt: skip


def identity_of(token: Token) -> Identity:
    """What a token that was found good lets its holder do."""
    return Identity(
        token=token.id, kind=TokenKind(token.kind), pool=token.pool, read_only=token.read_only, install=token.install,
        namespace=token.namespace, group=token.group, runner=token.runner,
    )  # fmt: skip


def allow(*kinds: TokenKind) -> Callable[..., Awaitable[Identity]]:
    """For a route: its caller, if the token is of one of these kinds. The door has found out who that is."""

    async def caller(
        request: Request,
        _: Annotated[HTTPAuthorizationCredentials | None, Security(SCHEME)],  # for the description alone
    ) -> Identity:
        return caller_of(request.scope, *kinds)

    return caller


def caller_of(scope: Scope, *kinds: TokenKind) -> Identity:
    """The same, where FastAPI is not asked."""
    found: Identity = scope["state"]["identity"]
    if found.kind not in kinds:
        names = " or ".join(f"{each}_" for each in kinds)
        raise Problem(403, "not_allowed", f"this is for tokens that begin with {names}, not with {found.kind}_")
    return found


Producer = Annotated[Identity, Depends(allow(TokenKind.PRODUCER, TokenKind.ADMIN))]
Admin = Annotated[Identity, Depends(allow(TokenKind.ADMIN))]
Dialler = Annotated[Identity, Depends(allow(TokenKind.RUNNER))]
"""A runner that dials out."""
