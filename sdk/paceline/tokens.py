"""Tokens: how somebody without a database login comes to a gateway. Of the secret only a hash is kept."""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, Self

from paceline.job import LONGEST, need
from paceline.seen import read

if TYPE_CHECKING:
    from paceline.database import Database

Kind = Literal["rk", "pk", "ak"]
"""For a runner, a producer, an admin."""
State = Literal["good", "expired", "revoked"]
ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
ID_LENGTH: Final = 12
SECRET_BYTES: Final = 32
NOTE_LIMIT: Final = 1_000
SHAPE: Final = re.compile(r"(rk|pk|ak)_([0-9a-z]{12})_([0-9A-Za-z_-]{43})")
"""Kind, id and secret."""
RUNNER: Final = re.compile(r"[a-z0-9]([-a-z0-9_.]{0,251}[a-z0-9])?")
CHANNEL: Final = "paceline_token"
"""Where the database tells the id of a token that is not good any more."""
CREATE: Final = """\
SELECT paceline.create_token($1, $2, $3, p_pool => $4, p_install => $5, p_namespace => $6, p_group => $7,
    p_runner => $8, p_read_only => $9, p_note => $10, p_seconds => $11, p_by => $12, p_proof => $13)"""


def proof_of(secret: str) -> bytes:
    """What shows the database that somebody has the secret; it never gets that itself, for a log might keep it."""
    return hashlib.sha256(secret.encode()).digest()


def hash_of(secret: str) -> bytes:
    """What is kept of a secret. Whoever reads it can tell a good one, and make neither that nor its proof."""
    return hashlib.sha256(proof_of(secret)).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token to be made; whatever is wrong with it is said here, before anything is written."""

    kind: Kind
    pool: str | None = None
    """The only one that it is good for; None is every pool."""
    group: str | None = None
    """Of a runner: its RunnerGroup, if that is not the pool itself."""
    namespace: str = ""
    install: str | None = None
    runner: str | None = None
    read_only: bool = False
    note: str = ""
    expires: timedelta | None = None

    def __post_init__(self) -> None:
        """Check every field."""
        kind, pool, group, runner = self.kind, self.pool, self.group, self.runner
        need(kind != "rk" or (runner and (pool or group)), "a runner's token needs its name, and a group or a pool")
        need(
            runner is None or RUNNER.fullmatch(runner),
            f'name "{runner}" is none for a runner (at most 253 small letters, digits, "-", "_", ".")',
        )
        need(not (pool and group), f'a runner is in the group "{group}" or serves the pool "{pool}" (leave one out)')
        need(kind == "rk" or not (runner or group), f"a token {kind}_ is for a pool (group and runner are for rk_)")
        need(kind == "ak" or not self.read_only, f"a token {kind}_ is not only for looking (read_only is for ak_)")
        need(
            len(self.note) <= NOTE_LIMIT and "\0" not in self.note,
            f"note must have at most {NOTE_LIMIT:,} characters, no NUL",
        )
        need(
            self.expires is None or timedelta(0) < self.expires <= LONGEST,
            f"expires {self.expires} is out of range (more than nothing, at most {LONGEST.days:,} days)",
        )


@dataclass(frozen=True, slots=True)
class Holder:
    """Somebody who has come to a gateway with an admin's token, and manages tokens as far as his own reaches."""

    id: str
    proof: bytes = field(repr=False)

    @classmethod
    def of(cls, token: str) -> Self:
        """From the token itself, which the gateway has found good."""
        shape = SHAPE.fullmatch(token)
        need(shape, "the token has not the form of one (it looks like ak_...)")
        assert shape is not None
        return cls(shape[2], proof_of(shape[3]))


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
    """The login, or `token ID` where it was made through a gateway."""
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


class Tokens:
    """The tokens of one database."""

    def __init__(self, database: "Database", holder: Holder | None = None) -> None:
        """Use a database that is open; a gateway manages tokens for a holder, as its own login cannot."""
        self._database = database
        self._by = (None, None) if holder is None else (holder.id, holder.proof)

    async def create(
        self, kind: Kind, *, pool: str | None = None, group: str | None = None, namespace: str = "",
        install: str | None = None, runner: str | None = None, read_only: bool = False, note: str = "",
        expires: timedelta | None = None,
    ) -> str:  # fmt: skip
        """Make one; what is returned is not kept anywhere."""
        return await self.make(NewToken(
            kind=kind, pool=pool, group=group, namespace=namespace, install=install, runner=runner,
            read_only=read_only, note=note, expires=expires,
        ))  # fmt: skip

    async def make(self, new: NewToken) -> str:
        """The same, of what was checked before."""
        number = "".join(secrets.choice(ALPHABET) for _ in range(ID_LENGTH))
        secret = secrets.token_urlsafe(SECRET_BYTES)
        await self._database.value(
            CREATE, number, new.kind, hash_of(secret), new.pool, new.install, new.namespace, new.group, new.runner,
            new.read_only, new.note, None if new.expires is None else new.expires.total_seconds(), *self._by,
        )  # fmt: skip
        return f"{new.kind}_{number}_{secret}"

    async def find(self, number: str) -> Token | None:
        """A token by its id, for a gateway's login; None also for one of pools that the gateway does not serve."""
        rows = await self._database.rows("SELECT * FROM paceline.find_token($1)", number)
        return read(Token, rows[0]) if rows else None

    async def note_used(self, numbers: Sequence[str]) -> None:
        """Say that these have let somebody in, for a gateway's login; kept to the minute."""
        await self._database.value("SELECT paceline.note_used($1)", [*numbers])

    async def list(self) -> list[TokenSeen]:
        """All that the login or the holder may manage, newest first."""
        rows = await self._database.rows("SELECT * FROM paceline.list_tokens($1, $2)", *self._by)
        return [read(TokenSeen, row) for row in rows]

    async def revoke(self, number: str) -> bool:
        """Make one worth nothing, at once; whether nobody had done so before."""
        return bool(await self._database.value("SELECT paceline.revoke_token($1, $2, $3)", number, *self._by))
