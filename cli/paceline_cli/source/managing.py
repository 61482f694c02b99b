"""What a person changes through a gateway: dead letters, cron entries, pools, tokens."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from paceline import errors
from paceline.job import JobId
from paceline.seen import DeadJob, Health
from paceline.tokens import TokenSeen
from paceline_cli.source import entry as entries
from paceline_cli.source.http import PAGE, Http

if TYPE_CHECKING:
    from paceline.cron import CronEntry, CronStatus
    from paceline.tokens import NewToken


class Managing(Http):
    """The half of a `Source` that is not for looking alone."""

    async def dead_letters(
        self, pool: str | None = None, *, kind: str | None = None, cause: str | None = None,
        since: datetime | None = None, until: datetime | None = None, limit: int = 100,
    ) -> list[DeadJob]:  # fmt: skip
        """The latest death first."""
        found: list[DeadJob] = []
        after: str | None = None
        while len(found) < limit:
            told = await self._ask(
                "GET", "/v1/dead", pool=pool, kind=kind, cause=cause, since=_moment(since), until=_moment(until),
                after=after, limit=str(min(PAGE, limit - len(found))),
            )  # fmt: skip
            found += self._read(list[DeadJob], told["dead"])
            after = told["next"]
            if after is None:
                break
        return found

    async def redrive(self, jobs: Sequence[JobId]) -> list[JobId]:
        """Put dead letters back; those that went."""
        return self._read(list[JobId], (await self._ask("POST", "/v1/dead/redrive", {"ids": [*jobs]}))["ids"])

    async def purge(self, jobs: Sequence[JobId]) -> list[JobId]:
        """Delete dead letters for good; those that went."""
        return self._read(list[JobId], (await self._ask("POST", "/v1/dead/purge", {"ids": [*jobs]}))["ids"])

    async def list_cron(self, pool: str) -> "list[CronStatus]":
        """The entries of a pool, by name."""
        told = await self._ask("GET", "/v1/cron", pool=pool)
        try:
            return [entries.status(each) for each in told["entries"]]
        except (KeyError, TypeError, ValueError) as error:
            raise self._strange(str(error)) from None

    async def put_cron(self, pool: str, entry: "CronEntry") -> datetime:
        """Make or change an entry; when it fires next."""
        told = await self._ask("PUT", f"/v1/cron/{_part(entry.name)}", entries.told(entry), pool=pool)
        return self._read(datetime, told["next_at"])

    async def delete_cron(self, pool: str, name: str) -> bool:
        """Whether there was one."""
        try:
            await self._ask("DELETE", f"/v1/cron/{_part(name)}", pool=pool)
        except errors.NotFoundError:
            return False
        return True

    async def pause_cron(self, pool: str, name: str, paused: bool) -> None:
        """Let an entry rest, or end that."""
        await self._ask("POST", f"/v1/cron/{_part(name)}/{_verb(paused)}", pool=pool)

    async def set_pool(
        self, pool: str, *, max_depth: int | None = None, rate: float | None = None, burst: float | None = None
    ) -> None:
        """None leaves a limit as it is, a negative number takes it away."""
        given = {"max_depth": max_depth, "rate": rate, "burst": burst}
        asked = {name: None if value < 0 else value for name, value in given.items() if value is not None}
        await self._ask("PATCH", f"/v1/pools/{_part(pool)}", {**asked, "create": True})

    async def set_kind(self, pool: str, kind: str, rate: float, burst: float | None) -> None:
        """The rate of a kind; a negative one takes it away."""
        body = {"kind": kind, "rate": None if rate < 0 else rate, "burst": burst, "create": True}
        await self._ask("PUT", f"/v1/pools/{_part(pool)}/kinds", body)

    async def set_key(self, pool: str, key: str, limit: int | None, rate: float | None, burst: float | None) -> None:
        """Both limits of a key; None is no limit."""
        body = {"key": key, "limit": limit, "rate": rate, "burst": burst, "create": True}
        await self._ask("PUT", f"/v1/pools/{_part(pool)}/keys", body)

    async def pause_pool(self, pool: str, paused: bool) -> None:
        """Let nobody claim from a pool, or end that."""
        await self._ask("POST", f"/v1/pools/{_part(pool)}/{_verb(paused)}")

    async def health(self) -> Health:
        """How well the database behind the gateway is."""
        return self._read(Health, await self._ask("GET", "/cluster/database"))

    async def list_tokens(self) -> list[TokenSeen]:
        """Those of the pool that our own is for, or all; the newest first."""
        return self._read(list[TokenSeen], (await self._ask("GET", "/v1/tokens"))["tokens"])

    async def create_token(self, new: "NewToken") -> str:
        """Make one; nobody shows it again."""
        body: dict[str, Any] = {
            "kind": new.kind, "pool": new.pool, "group": new.group, "install": new.install, "runner": new.runner,
            "read_only": new.read_only, "note": new.note,
            "expires_in_seconds": None if new.expires is None else new.expires.total_seconds(),
        }  # fmt: skip
        if new.group is not None:
            body["namespace"] = new.namespace
        return str((await self._ask("POST", "/v1/tokens", body))["token"])

    async def revoke_token(self, number: str) -> bool:
        """Make one worth nothing; whether nobody had done so before."""
        return bool((await self._ask("POST", f"/v1/tokens/{_part(number)}/revoke"))["revoked"])


def _moment(given: datetime | None) -> str | None:
    return None if given is None else given.isoformat()


def _verb(paused: bool) -> str:
    return "pause" if paused else "resume"


def _part(name: str) -> str:
    """A name in a path. Dots between slashes would be taken for a way up, and another thing be meant."""
    if any(each in (".", "..") for each in name.split("/")):
        raise errors.InvalidInputError(f'"{name}" cannot be a part of a URL: use --database-url')
    return quote(name)
