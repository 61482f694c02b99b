"""A gateway, by its HTTP API: for people who have a token and no way to the database."""

import json
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from pydantic import TypeAdapter, ValidationError

from paceline import errors
from paceline.job import JobId
from paceline.scaling import DecisionSeen, GroupFound
from paceline.seen import Attempt, GroupSnapshot, JobDetail, JobSeen, LiveState, PoolSeen, RunnerSeen, Unclaimable
from paceline_cli.source.port import Led

T = TypeVar("T")
CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 65.0
"""A gateway gives a request 60 seconds, and then says so itself."""
NO_ROUTE: Final = "Not Found"
"""What the framework says of a path that it does not know."""
PAGE: Final = 500
"""The longest page that a gateway gives."""
BAD_TOKEN: Final = (
    "the token is not good: wrong, expired or revoked "  # noqa: S105 -- words about one
    "(make another: paceline token create --admin)"
)
OWN_CA: Final = " (where it has a certificate of your own, give its CA with --gateway-ca)"
REFUSALS: Final = {
    "invalid": errors.InvalidInputError,
    "not_allowed": errors.NotAllowedError,
    "not_eligible": errors.NotEligibleError,
    "not_found": errors.NotFoundError,
    "read_only": errors.NotAllowedError,
}
"""What the gateway's words mean. Its sentences say what to do already."""


class Dialled:
    """A `Source` behind a token; `async with` opens and closes it."""

    def __init__(
        self, url: str, token: str, *, ca: Path | None = None, place: str = "", proxy: str | None = None
    ) -> None:
        """Connect to nothing yet; `place` is what it is called where the address says nothing to people."""
        self._base = url.rstrip("/")
        self._token, self._proxy = token, proxy
        self._trusted = trusted(ca) if self._base.startswith("https") else True
        self._session: aiohttp.ClientSession | None = None
        self._now: datetime | None = None
        self.place = place or f"the gateway {urlsplit(self._base).netloc}"

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self._token}"},
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(ssl=self._trusted),
            proxy=self._proxy,
            timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS, sock_connect=CONNECT_SECONDS),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def now(self) -> datetime:
        """By the gateway's last answer, to the second."""
        if self._now is None:
            await self._ask("GET", "/v1/pools")
        return self._now or datetime.now(UTC)

    async def find_groups(self, group: str | None = None, install: str | None = None) -> list[GroupFound]:
        """Of the groups that the token may see."""
        return [
            GroupFound(id=each.id, install=each.install, namespace=each.namespace, name=each.name, pool=each.pool)
            for each in await self.snapshot()
            if install in (None, each.install) and group in (None, each.name, f"{each.namespace}/{each.name}")
        ]

    async def snapshot(self) -> list[GroupSnapshot]:
        """How every group stands."""
        return self._read(list[GroupSnapshot], (await self._ask("GET", "/cluster/groups"))["groups"])

    async def list_runners(self, pool: str | None = None, group: str | None = None) -> list[RunnerSeen]:
        """Who is registered."""
        told = await self._ask("GET", "/cluster/runners", pool=pool, group=group)
        return self._read(list[RunnerSeen], told["runners"])

    async def list_decisions(self, group: int, *, since: timedelta, most: int) -> list[DecisionSeen]:
        """Why a group had the sizes that it had."""
        path, seconds = f"/cluster/groups/{group}/decisions", str(since.total_seconds())
        told = await self._ask("GET", path, since_seconds=seconds, limit=str(most))
        return self._read(list[DecisionSeen], told["decisions"])

    async def unclaimable(self, pool: str | None = None) -> list[Unclaimable]:
        """Ready jobs that nobody could claim."""
        told = await self._ask("GET", "/cluster/unclaimable", pool=pool)
        return self._read(list[Unclaimable], told["unclaimable"])

    async def list_pools(self) -> list[PoolSeen]:
        """A gateway does not say whose a pool is."""
        told = await self._ask("GET", "/v1/pools")
        return self._read(list[PoolSeen], [{"install": None, "namespace": None, **each} for each in told["pools"]])

    async def list_jobs(
        self, pool: str | None = None, *, state: LiveState | None = None, kind: str | None = None,
        before: JobSeen | JobId | None = None, limit: int = 100,
    ) -> list[JobSeen]:  # fmt: skip
        """In pages of its own, where more are wanted than it gives at once."""
        found: list[JobSeen] = []
        after = before.id if isinstance(before, JobSeen) else before
        while len(found) < limit:
            size = min(PAGE, limit - len(found))
            told = await self._ask(
                "GET", "/v1/jobs", pool=pool, state=state, kind=kind, limit=str(size),
                after=None if after is None else str(after),
            )  # fmt: skip
            found += self._read(list[JobSeen], told["jobs"])
            after = told["next"]
            if after is None:
                break
        return found

    async def job_detail(self, job: JobId) -> JobDetail | None:
        """One that the token may not see is not there."""
        try:
            told = await self._ask("GET", f"/v1/jobs/{job}")
        except errors.NotFoundError:
            return None
        seconds = told.get("timeout_seconds")
        more = {
            "trace": told.get("traceparent"), "timeout_ms": None if seconds is None else round(seconds * 1000),
        }  # fmt: skip
        return self._read(JobDetail, {**told, **more})

    async def job_attempts(self, job: JobId) -> list[Attempt]:
        """The attempts on record."""
        return self._read(list[Attempt], (await self._ask("GET", f"/v1/jobs/{job}/logs"))["attempts"])

    async def cancel(self, job: JobId) -> str:
        """Take a job out."""
        return await self._wish(job, "cancel")

    async def retry(self, job: JobId) -> str:
        """Try a job again now."""
        return await self._wish(job, "retry")

    async def promote(self, runner: str, *, group: str | None = None, install: str | None = None) -> Led:
        """Make a Runner the leader."""
        return await self._lead({"runner": runner, "group": group, "install": install})

    async def clear(self, group: str, *, install: str | None = None) -> Led:
        """End a promotion."""
        return await self._lead({"group": group, "install": install})

    async def _wish(self, job: JobId, verb: str) -> str:
        try:
            return str((await self._ask("POST", f"/v1/jobs/{job}/{verb}"))["answer"])
        except errors.NotFoundError:
            return "unknown"

    async def _lead(self, choice: dict[str, str | None]) -> Led:
        return self._read(Led, await self._ask("POST", "/cluster/promote", body=choice))

    async def _ask(self, method: str, path: str, body: object = None, **query: str | None) -> dict[str, Any]:
        assert self._session is not None
        given = {key: value for key, value in query.items() if value is not None}
        try:
            async with self._session.request(
                method, self._base + path, params=given, json=body, allow_redirects=False
            ) as answer:
                text = await answer.text(errors="replace")
        except TimeoutError:
            raise errors.GatewayError(f"{self.place} does not answer") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            fix = OWN_CA if isinstance(error, aiohttp.ClientConnectorCertificateError) else ""
            why = str(error) or type(error).__name__
            raise errors.GatewayError(f"cannot reach {self.place}: {why}{fix}") from error
        told = _object(text)
        if answer.status == 200 and told is not None:
            self._now = _date(answer.headers.get("Date"))
            return told
        raise self._refusal(path, answer.status, told or {})

    def _refusal(self, path: str, status: int, told: dict[str, Any]) -> errors.PacelineError:
        """An answer of the gateway itself has a word; anything else comes from whoever stands between."""
        word, detail = told.get("error"), told.get("detail")
        if word == "unauthorized":
            return errors.NotAllowedError(f"{self.place} says: {BAD_TOKEN}")
        if word == "not_found" and detail == NO_ROUTE:
            return errors.GatewayError(f"{self.place} does not serve {path}: it is older than this command; update it")
        if word in REFUSALS:
            return REFUSALS[str(word)](f"{self.place} says: {detail}")
        return errors.GatewayError(f"{self.place} answers {status}{f': {detail}' if detail else ''}")

    def _read(self, kind: type[T], told: object) -> T:
        try:
            return TypeAdapter(kind).validate_python(told)
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise errors.GatewayError(
                f"{self.place} says something that this version does not understand ({where}): "
                "use a paceline of the gateway's version"
            ) from None


def trusted(ca: Path | None) -> ssl.SSLContext:
    """Whom to believe that he is the gateway."""
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise errors.InvalidInputError(f"gateway-ca {ca} has no certificates in PEM: {error}") from None


def proxy_for(url: str) -> str | None:
    """As the variables say. Not aiohttp's own way: it would look into .netrc for another login too."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _date(header: str | None) -> datetime | None:
    try:
        return parsedate_to_datetime(header or "")
    except ValueError:
        return None
