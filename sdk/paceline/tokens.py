"""Tokens: how somebody without a database login comes to a gateway. Of the secret only a hash is kept."""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal

from paceline.job import need
from paceline.seen import read

if TYPE_CHECKING:
    from paceline.database import Database

Kind = Literal["rk", "pk", "ak"]
"""For a runner, a producer, an admin."""
State = Literal["good", "expired", "revoked"]
ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
ID_LENGTH: Final = 12
SECRET_BYTES: Final = 32
SHAPE: Final = re.compile(r"(rk|pk|ak)_([0-9a-z]{12})_([0-9A-Za-z_-]{43})")
"""Kind, id and secret."""
RUNNER: Final = re.compile(r"[a-z0-9]([-a-z0-9_.]{0,251}[a-z0-9])?")
CHANNEL: Final = "paceline_token"
"""Where the database tells the id of a token that is not good any more."""
CREATE: Final = """\
SELECT paceline.create_token($1, $2, $3, p_pool => $4, p_install => $5, p_namespace => $6, p_group => $7,
    p_runner => $8, p_read_only => $9, p_note => $10, p_seconds => $11)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What a gateway needs to know of a token."""

    id: str
    kind: Kind
    hash: bytes
    pool: str | None
    install: str
    namespace: str
    group: str | None
    runner: str | None
    read_only: bool
    valid: bool
    seconds_left: float | None
    """None: it does not expire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSeen:
    """A token in a list."""

    id: str
    kind: Kind
    state: State
    pool: str | None
    install: str
    namespace: str
    group: str | None
    runner: str | None
    read_only: bool
    note: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


class Tokens:
    """The tokens of one database."""

    def __init__(self, database: "Database") -> None:
        """Use a database that is open."""
        self._database = database

    async def create(
        self, kind: Kind, *, pool: str | None = None, group: str | None = None, namespace: str = "",
        install: str | None = None, runner: str | None = None, read_only: bool = False, note: str = "",
        expires: timedelta | None = None,
    ) -> str:  # fmt: skip
        """Make one; what is returned is not kept anywhere."""
        need(kind != "rk" or (runner and (pool or group)), "a runner's token needs its name, and a group or a pool")
        need(
            runner is None or RUNNER.fullmatch(runner),
            f'name "{runner}" is none for a runner (at most 253 small letters, digits, "-", "_", ".")',
        )
        need(not (pool and group), f'a runner is in the group "{group}" or serves the pool "{pool}" (leave one out)')
        need(kind == "rk" or not (runner or group), f"a token {kind}_ is for a pool (group and runner are for rk_)")
        need(expires is None or expires > timedelta(0), f"expires {expires} is out of range (more than nothing)")
        number = "".join(secrets.choice(ALPHABET) for _ in range(ID_LENGTH))
        secret = secrets.token_urlsafe(SECRET_BYTES)
        await self._database.value(
            CREATE, number, kind, hashlib.sha256(secret.encode()).digest(), pool, install, namespace, group, runner,
            read_only, note, None if expires is None else expires.total_seconds(),
        )  # fmt: skip
        return f"{kind}_{number}_{secret}"

    async def find(self, number: str) -> Token | None:
        """A token by its id, for a gateway's login; None also for one of pools that the gateway does not serve."""
        rows = await self._database.rows("SELECT * FROM paceline.find_token($1)", number)
        return read(Token, rows[0]) if rows else None

    async def note_used(self, numbers: Sequence[str]) -> None:
        """Say that these have let somebody in, for a gateway's login; kept to the minute."""
        await self._database.value("SELECT paceline.note_used($1)", [*numbers])

    async def list(self) -> list[TokenSeen]:
        """All that the login may manage, newest first."""
        return [read(TokenSeen, row) for row in await self._database.rows("SELECT * FROM paceline.list_tokens()")]

    async def revoke(self, number: str) -> bool:
        """Make one worth nothing, at once; whether nobody had done so before."""
        return bool(await self._database.value("SELECT paceline.revoke_token($1)", number))
